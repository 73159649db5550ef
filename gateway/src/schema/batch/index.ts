import "./batch.ts";
import "./queries.ts";
import "./mutations.ts";
import "./subscriptions.ts";
