import { makeTestEngine } from "./engine.ts";

/** A program of its own, so that a test can build the image in processes that share nothing. */
process.stdout.write(makeTestEngine().image.hash);
