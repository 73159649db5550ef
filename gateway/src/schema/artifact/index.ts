import type { ArtifactRow } from "@airlock/shared/db";
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
      description: "On this server; it takes the same keys.",
      resolve: (artifact) => `/artifacts/${artifact.id}`,
    }),
  }),
});
