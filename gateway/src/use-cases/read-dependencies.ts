import {
  canonicalDependencies,
  dependenciesFault,
  type Dependencies,
  type Language,
  NPM_LANGUAGES,
} from "@airlock/shared/domain";
import type { EnvironmentChoice, KnownEnvironment } from "./environments/choose.ts";
import type { Faults } from "./faults.ts";

/** For whom they are. */
interface Importer {
  readonly language: Language;
  /** One without a name is not known: that is a fault already. */
  readonly environment: KnownEnvironment;
  readonly environments: EnvironmentChoice;
}

/** More names than this would not help anybody to choose one. */
const NAMES_SHOWN = 20;

/** Canonical JSON text, or null where there are none. */
export function readDependencies(
  given: unknown,
  { language, environment, environments }: Importer,
  field: string,
  faults: Faults,
): string | null {
  if (given === null || given === undefined) return null;
  const fault = dependenciesFault(given);
  if (fault !== null) {
    faults.add(field, fault);
    return null;
  }
  const dependencies = canonicalDependencies(given as Dependencies);
  if (dependencies === null || environment.name === "") return dependencies;
  if (!NPM_LANGUAGES.includes(language)) {
    faults.add(field, `are npm packages, which ${language} cannot import; leave them out`);
  } else if (!takesThem(environment)) {
    const able = environments.names.filter((name) => takesThem(environments.find(name))).slice(0, NAMES_SHOWN);
    const advice = able.length === 0 ? "there is none that takes them" : `these take them: ${able.join(", ")}`;
    faults.add(field, `are not taken by the environment "${environment.name}"; ${advice}`);
  }
  return dependencies;
}

/** Guests in the isolate have no modules and no files. */
function takesThem(environment: KnownEnvironment | null): boolean {
  if (environment === null || !environment.active || environment.provider === "isolate") return false;
  return environment.languages.some((language) => NPM_LANGUAGES.includes(language));
}
