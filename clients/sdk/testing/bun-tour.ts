import { takeTour } from "./tour.ts";

const [url = "", key = ""] = process.argv.slice(2);
process.stdout.write(JSON.stringify({ bun: process.versions["bun"], findings: await takeTour({ url, key }) }));
