export { chooseStore, type StoreEnv, storeEnv } from "./choose-store.ts";
export { createDiskStore } from "./disk-store.ts";
export { type ContentRef, createFiles, type Files, INLINE_BYTES } from "./files.ts";
export { TooManyBytes } from "./receive.ts";
export { createS3Store, type S3Options } from "./s3-store.ts";
export { type ByteRange, type Store, StoreError } from "./store.ts";
