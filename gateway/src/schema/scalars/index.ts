import "./json.ts";
import "./date-time.ts";
