import { defineConfig } from "vitest/config";
import { SummaryReporter } from "./shared/testing/summary-reporter.ts";

export default defineConfig({
  // Without vite's own "development": graphql has a second copy of itself under it, and two copies refuse each other.
  ssr: { resolve: { conditions: ["node", "module-sync"] } },
  resolve: { conditions: ["node", "module-sync"] },
  test: {
    include: ["{shared,gateway,workers,infra,bench,clients}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    environment: "node",
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: ["./shared/testing/global-setup.ts"],
    reporters: ["default", new SummaryReporter()],
  },
});
