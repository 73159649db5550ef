import { expect, it } from "vitest";
import { ResetPlan } from "./reset-plan.ts";

const PAGE = 16_384;

it.each([
  ["empty", 0],
  ["one byte", 1],
  ["a page", PAGE],
  ["a page and one byte", PAGE + 1],
  ["many pages and a rest", 7 * PAGE + 5],
])("an image of %s is written in full, zeros and all, over whatever was there", (_, length) => {
  const image = new Uint8Array(length);
  // Pages by turns empty, full, and with a single byte at either end.
  for (let page = 0; page * PAGE < length; page++) {
    const bytes = image.subarray(page * PAGE, (page + 1) * PAGE);
    if (page % 4 === 1) bytes.fill(7);
    if (page % 4 === 2) bytes[0] = 1;
    if (page % 4 === 3) bytes[bytes.length - 1] = 1;
  }
  const memory = new Uint8Array(length).fill(0xff);
  new ResetPlan(image).apply(memory);
  expect(Buffer.from(memory).equals(image)).toBe(true);
});

it("the plan keeps its own copy: an image that changes later changes nothing", () => {
  const image = new Uint8Array(PAGE).fill(3);
  const plan = new ResetPlan(image);
  image.fill(9);
  const memory = new Uint8Array(PAGE);
  plan.apply(memory);
  expect(memory.every((byte) => byte === 3)).toBe(true);
});
