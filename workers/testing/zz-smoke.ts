import { startSshServer } from "./ssh-server.ts";
import { createSshProvider } from "../src/sandboxes/ssh/index.ts";
import { startGuest } from "./driven-guest.ts";
const server = await startSshServer();
const provider = createSshProvider({ machines: { m: server.machine } });
try {
console.log(JSON.stringify(await provider.probe(), null, 1));
for (let i=0;i<2;i++){
const t = Date.now();
const g = await startGuest(provider, { code: `console.log("hi"); require("fs").writeFileSync("out.txt","x".repeat(10)); require("fs").symlinkSync("/etc/passwd","link"); console.error(require("fs").readFileSync("in.txt","utf8"), process.getuid(), process.env, require("fs").readdirSync("/layer")); const v = await tools.a.b({x:1}); return v`, lease: { config: {machine:"m"}, files: [{path:"in.txt", content: Buffer.from("input")}] , layers:[{source:"/tmp/wt/remote/workers/testing/vercel-double", target:"/layer"}]},  });
console.log("acquired", Date.now()-t);
const c = await g.nextCall(); console.log("call", Date.now()-t, c);
g.give(c, {ok:1});
console.log(await g.running.outcome, Date.now()-t, g.heard);
for await (const f of g.lease.outputs({files:10,fileBytes:1000,totalBytes:1000,onLeft:(p,r)=>console.log("left",p,r)})) { let t=""; for await (const b of f.content()) t+=b; console.log(f.path,f.size,t); }
console.log(await g.ended().then(e=>e.outcome), Date.now()-t);
console.log(await provider.leftovers());
}
} finally {
await provider.close(); await server.close(); }
