import { type ArtifactRow, listSessionArtifacts } from "@airlock/shared/db";
import { FILE_PAGE, listCost, pageSize } from "../../pagination.ts";
import { unstorable } from "../../use-cases/texts.ts";
import { builder } from "../builder.ts";

const ArtifactDirectionType = builder.enumType("ArtifactDirection", { values: ["INPUT", "OUTPUT"] as const });

export const ArtifactType = builder.objectRef<ArtifactRow>("Artifact").implement({
  fields: (t) => ({
    id: t.exposeID("id"),
    name: t.exposeString("name"),
    direction: t.expose("direction", { type: ArtifactDirectionType }),
    size: t.exposeFloat("size"),
    contentType: t.exposeString("content_type"),
    sha256: t.string({ resolve: (artifact) => artifact.sha256.toString("hex") }),
    url: t.string({
      description: "On this server, which answers with the bytes; it takes the same keys, and ranges.",
      resolve: (artifact) => `/artifacts/${artifact.id}`,
    }),
  }),
});

builder.queryField("sessionArtifacts", (t) =>
  t.field({
    type: [ArtifactType],
    scope: "read",
    description: "What the tasks of a session have left: the newest file of each name, newest first.",
    args: { session: t.arg.string({ required: true }), first: t.arg.int() },
    complexity: listCost(FILE_PAGE),
    resolve: (_, { session, first }, { app, caller }) => {
      const size = pageSize(first, FILE_PAGE);
      return unstorable(session) === null ? listSessionArtifacts(app.db, caller.projectId, session, size) : [];
    },
  }),
);
