import type { Command } from "../command.ts";
import { approvalsAnswer } from "./approvals-answer.ts";
import { approvalsApprove } from "./approvals-approve.ts";
import { approvalsDeny } from "./approvals-deny.ts";
import { approvalsLs } from "./approvals-ls.ts";
import { approvalsWatch } from "./approvals-watch.ts";
import { batch } from "./batch.ts";
import { doctor } from "./doctor.ts";
import { environmentsLs } from "./environments-ls.ts";
import { environmentsProbe } from "./environments-probe.ts";
import { environmentsShow } from "./environments-show.ts";
import { login } from "./login.ts";
import { run } from "./run.ts";
import { start } from "./start.ts";
import { tasksArtifacts } from "./tasks-artifacts.ts";
import { tasksCancel } from "./tasks-cancel.ts";
import { tasksDownload } from "./tasks-download.ts";
import { tasksLogs } from "./tasks-logs.ts";
import { tasksLs } from "./tasks-ls.ts";
import { tasksRetry } from "./tasks-retry.ts";
import { tasksShow } from "./tasks-show.ts";
import { toolsLs } from "./tools-ls.ts";
import { toolsTypes } from "./tools-types.ts";
import { workersLs } from "./workers-ls.ts";

/** In the order of the help. */
export const COMMANDS: readonly Command[] = [
  start,
  run,
  batch,
  tasksLs,
  tasksShow,
  tasksLogs,
  tasksArtifacts,
  tasksDownload,
  tasksCancel,
  tasksRetry,
  approvalsLs,
  approvalsWatch,
  approvalsApprove,
  approvalsDeny,
  approvalsAnswer,
  toolsLs,
  toolsTypes,
  environmentsLs,
  environmentsShow,
  environmentsProbe,
  workersLs,
  doctor,
  login,
];
