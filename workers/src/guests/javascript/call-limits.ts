/** Bounds of what a guest sends with one call. Here, because the host process reads nothing outside of this folder. */
export const CALL_INPUT_CHARS = 1024 * 1024;
export const CALL_PATH_CHARS = 256;
/** Bounds of all calls that wait for their outcomes: the worker holds them in its memory, not in the guest's. */
export const OPEN_CALLS = 10_000;
export const OPEN_CALLS_CHARS = 64 * 1024 * 1024;
