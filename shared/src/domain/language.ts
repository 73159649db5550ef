export const LANGUAGES = ["JAVASCRIPT", "TYPESCRIPT", "PYTHON", "BASH", "BUN"] as const;
export type Language = (typeof LANGUAGES)[number];
