import "./task.ts";
import "./connection.ts";
import "./queries.ts";
import "./mutations.ts";
