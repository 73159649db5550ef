import type { ApprovalRow } from "@airlock/shared/db";
import { toCursor } from "../../pagination.ts";
import { builder } from "../builder.ts";
import { pageInfoOf, PageInfoType } from "../page-info.ts";
import { ApprovalConnectionType, ApprovalType } from "./refs.ts";

const ApprovalEdgeType = builder.objectRef<ApprovalRow>("ApprovalEdge").implement({
  fields: (t) => ({
    cursor: t.string({ resolve: (approval) => toCursor("approval", approval.id) }),
    node: t.field({ type: ApprovalType, resolve: (approval) => approval }),
  }),
});

ApprovalConnectionType.implement({
  fields: (t) => ({
    edges: t.field({ type: [ApprovalEdgeType], resolve: (page) => page.items }),
    pageInfo: t.field({ type: PageInfoType, resolve: (page) => pageInfoOf("approval", page) }),
  }),
});
