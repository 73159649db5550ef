import { BUILT_IN_ENVIRONMENTS, type Language, LANGUAGES } from "@airlock/shared/domain";
import { expect, it } from "vitest";
import type { SandboxProvider } from "../port.ts";
import { failed, type Run } from "./expectations.ts";

const HELLO: Readonly<Record<Language, string>> = {
  JAVASCRIPT: 'console.log("hello")',
  TYPESCRIPT: 'const text: string = "hello"; console.log(text satisfies string)',
  PYTHON: 'print("hello")',
  BASH: "echo hello",
  BUN: 'console.log(Bun.version === "" ? "" : "hello")',
};

export function declarations(provider: SandboxProvider, run: Run): void {
  it("its walls hold on this machine, as measured by itself", async () => {
    expect(await provider.probe()).toMatchObject({ available: true, isolation: { provider: provider.name } });
  });

  it("every language that it declares runs, and JavaScript is among them", async () => {
    const { languages } = provider.capabilities;
    expect(LANGUAGES).toEqual(expect.arrayContaining([...languages, "JAVASCRIPT"]));
    expect(languages).toContain("JAVASCRIPT");
    for (const language of languages) {
      expect([language, (await run(HELLO[language], { language })).stdout]).toEqual([language, "hello\n"]);
    }
  });

  it("a language that it does not declare is refused, and nothing is run", async () => {
    const others = LANGUAGES.filter((language) => !provider.capabilities.languages.includes(language));
    for (const language of others) {
      const ran = await run('console.log("ran")', { language });
      expect([language, ran]).toMatchObject([language, { outcome: failed("UNSUPPORTED_ENVIRONMENT"), output: [] }]);
    }
  });

  it("no environment offers a language that it does not declare", () => {
    const offered = BUILT_IN_ENVIRONMENTS.filter((environment) => environment.provider === provider.name);
    expect(provider.capabilities.languages).toEqual(
      expect.arrayContaining(offered.flatMap((environment) => environment.languages)),
    );
  });
}
