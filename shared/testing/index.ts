export { createTestDatabase, createEmptyDatabase, type TestDatabase } from "./database.ts";
export { type Need, describeNeeding, describeWithRedis, needs } from "./needs.ts";
export { type Proxy, startProxy } from "./proxy.ts";
export { redisUrl } from "./redis.ts";
export { type RedisServer, startRedisServer } from "./redis-server.ts";
export { freePort } from "../src/runtime/index.ts";
export { newTask, openTestDatabase } from "./tasks.ts";
export { type Api, ApiFailure, createApi } from "./api.ts";
export { endProcess, type Fleet, startFleet } from "./fleet.ts";
