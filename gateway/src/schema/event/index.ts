import "./subscription.ts";
