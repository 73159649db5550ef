import path from "node:path";

const TEXT_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".csv": "text/csv",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".jsonl": "application/x-ndjson",
  ".md": "text/markdown",
  ".mjs": "text/javascript",
  ".svg": "image/svg+xml",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
};

/** First bytes, as hex. */
const SIGNATURES: readonly (readonly [string, string])[] = [
  ["89504e470d0a1a0a", "image/png"],
  ["ffd8ff", "image/jpeg"],
  ["474946383761", "image/gif"],
  ["474946383961", "image/gif"],
  ["255044462d", "application/pdf"],
  ["504b0304", "application/zip"],
  ["1f8b", "application/gzip"],
  ["28b52ffd", "application/zstd"],
  ["53514c69746520666f726d6174203300", "application/vnd.sqlite3"],
  ["0061736d", "application/wasm"],
];

const WEBP = /^52494646.{8}57454250/;

/**
 * The bytes decide whether it is text; the name only which kind. So a page that is called `x.png` is never an image, and
 * bytes called `x.html` are never a page.
 */
export function contentTypeOf(name: string, first: Buffer, isText: boolean): string {
  const head = first.subarray(0, 16).toString("hex");
  const binary = SIGNATURES.find(([signature]) => head.startsWith(signature));
  if (binary !== undefined) return binary[1];
  if (WEBP.test(head)) return "image/webp";
  if (!isText) return "application/octet-stream";
  return TEXT_TYPES[path.posix.extname(name).toLowerCase()] ?? "text/plain";
}
