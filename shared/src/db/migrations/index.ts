import type { Migration } from "kysely/migration";
import { up as theFirstHouse } from "./0001-the-first-house.ts";
import { up as toolsAndApprovals } from "./0002-tools-and-approvals.ts";
import { up as retention } from "./0003-retention.ts";
import { up as history } from "./0004-history.ts";
import { up as environments } from "./0005-environments.ts";
import { up as contents } from "./0006-contents.ts";
import { up as configuration } from "./0007-configuration.ts";
import { up as functions } from "./0009-functions.ts";
import { up as provisioning } from "./0010-provisioning.ts";
import { up as counts } from "./0012-counts.ts";
import { up as waitingAndPolicies } from "./0013-waiting-and-policies.ts";
import { up as sandboxPins } from "./0016-sandbox-pins.ts";
import { up as atMostOnce } from "./0017-at-most-once.ts";

/** In order. A merged migration never changes; a correction is a new one. */
export const migrations: Record<string, Migration> = {
  "0001-the-first-house": { up: theFirstHouse },
  "0002-tools-and-approvals": { up: toolsAndApprovals },
  "0003-retention": { up: retention },
  "0004-history": { up: history },
  "0005-environments": { up: environments },
  "0006-contents": { up: contents },
  "0007-configuration": { up: configuration },
  "0009-functions": { up: functions },
  "0010-provisioning": { up: provisioning },
  "0012-counts": { up: counts },
  "0013-waiting-and-policies": { up: waitingAndPolicies },
  "0016-sandbox-pins": { up: sandboxPins },
  "0017-at-most-once": { up: atMostOnce },
};
