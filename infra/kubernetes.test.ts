import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { Job } from "kubernetes-models/batch/v1/Job";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Namespace } from "kubernetes-models/v1/Namespace";
import { PersistentVolumeClaim } from "kubernetes-models/v1/PersistentVolumeClaim";
import { Service } from "kubernetes-models/v1/Service";
import { ServiceAccount } from "kubernetes-models/v1/ServiceAccount";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";

const BASE = path.resolve(import.meta.dirname, "../k8s/base");
const MODELS = { ConfigMap, Deployment, Job, Namespace, PodDisruptionBudget, Service, ServiceAccount };
const DRAIN_SECONDS = 30;

interface Document {
  apiVersion: string;
  kind: keyof typeof MODELS;
  metadata: { name: string };
}

const kustomization = parse(readFileSync(path.join(BASE, "kustomization.yaml"), "utf8")) as {
  resources: string[];
  images: { name: string }[];
};
const documents = kustomization.resources.flatMap((file) =>
  parseAllDocuments(readFileSync(path.join(BASE, file), "utf8")).map((one) => one.toJS() as Document),
);
const titled = documents.map((document) => ({ title: `${document.kind} ${document.metadata.name}`, document }));

function validate(document: Document): void {
  const Model = MODELS[document.kind] as new (data: unknown) => { apiVersion: string; validate(): void };
  const model = new Model(document);
  if (model.apiVersion !== document.apiVersion) throw new Error(`${document.kind} is not in ${document.apiVersion}`);
  model.validate();
}

describe("the kustomize base", () => {
  test("lists every file, and every file it lists exists", () => {
    expect(kustomization.resources.filter((file) => !existsSync(path.join(BASE, file)))).toEqual([]);
    const files = readdirSync(BASE).filter((file) => file.endsWith(".yaml") && file !== "kustomization.yaml");
    expect(files.toSorted()).toEqual(kustomization.resources.toSorted());
  });

  test.each(titled)("$title is valid", ({ document }) => {
    expect(() => validate(document)).not.toThrow();
  });

  test("a Deployment without a selector would be found", () => {
    const broken = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "x" }, spec: { replicas: "two" } };
    expect(() => validate(broken as unknown as Document)).toThrow();
  });

  test("contains no Secret", () => {
    expect(documents.filter(({ kind }: { kind: string }) => kind === "Secret")).toEqual([]);
  });
});

describe("the component shared-volume", () => {
  const read = (file: string): unknown =>
    parse(readFileSync(path.resolve(import.meta.dirname, "../k8s/components/shared-volume", file), "utf8"));
  const claim = read("volume.yaml") as Document;
  const patches = read("mount.yaml") as { path: string; value: object }[];

  test("claims a volume that many nodes can write, and mounts it where the images keep files", () => {
    const model = new PersistentVolumeClaim(claim);
    expect(() => model.validate()).not.toThrow();
    expect(claim).toMatchObject({ spec: { accessModes: ["ReadWriteMany"] } });
    const [volume, mount] = patches.map((patch) => patch.value);
    expect(volume).toMatchObject({ persistentVolumeClaim: { claimName: claim.metadata.name } });
    expect(mount).toEqual({ name: "artifacts", mountPath: "/var/lib/airlock/artifacts" });
  });

  test("patches lists that the base has", () => {
    for (const name of ["airlock-gateway", "airlock-worker"]) {
      for (const { path: where } of patches) {
        const keys = where.split("/").slice(1, -1);
        const found = keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], workload(name));
        expect(found).toEqual(expect.any(Array));
      }
    }
  });
});

interface Probe {
  httpGet: { path: string; port: string };
}
interface Container {
  image: string;
  command?: string[];
  ports?: { name: string; containerPort: number }[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
  securityContext: unknown;
  resources: { requests: object; limits: object };
  startupProbe: Probe;
  readinessProbe: Probe;
  livenessProbe: Probe;
  lifecycle?: { preStop?: object };
}
interface Workload extends Document {
  spec: {
    selector?: { matchLabels: object };
    template: {
      metadata: { labels: object };
      spec: {
        containers: [Container];
        securityContext: object;
        serviceAccountName: string;
        automountServiceAccountToken: boolean;
        terminationGracePeriodSeconds: number;
      };
    };
  };
}

const workload = (name: string): Workload => {
  const kinds = ["Deployment", "Job"];
  return documents.find((one) => kinds.includes(one.kind) && one.metadata.name === name) as Workload;
};

describe.each(["airlock-gateway", "airlock-worker", "airlock-migrate"])("the pods of %s", (name) => {
  const { spec } = workload(name).spec.template;
  const [container] = spec.containers;

  test("have no rights that they do not use", () => {
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(spec).toMatchObject({ serviceAccountName: "airlock", automountServiceAccountToken: false });
  });

  test("state their resources and an image that the kustomization tags", () => {
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.anything() },
      limits: { memory: expect.anything() },
    });
    expect(kustomization.images.map((image) => image.name)).toContain(container.image);
  });

  test("take secrets by reference, and the admin key only where it is used", () => {
    const secrets = (container.env ?? []).filter(({ valueFrom }) => valueFrom !== undefined);
    expect(secrets.map(({ valueFrom }) => valueFrom?.secretKeyRef.name)).toEqual(secrets.map(() => "airlock-secrets"));
    const names = secrets.map((one) => one.name);
    expect(names).toContain("DATABASE_URL");
    expect(names.includes("AIRLOCK_ADMIN_KEY")).toBe(name === "airlock-gateway");
  });
});

describe.each([
  { name: "airlock-gateway", port: 4001 },
  { name: "airlock-worker", port: 4002 },
])("the Deployment $name", ({ name, port }) => {
  const { selector, template } = workload(name).spec;
  const [container] = template.spec.containers;

  test("selects its own pods and has a disruption budget for them", () => {
    expect(template.metadata.labels).toMatchObject(selector?.matchLabels ?? { missing: true });
    const budget = documents.find((one) => one.kind === "PodDisruptionBudget" && one.metadata.name === name);
    expect(budget).toMatchObject({ spec: { selector } });
  });

  test("is probed on a port that it opens", () => {
    const [opened] = container.ports ?? [];
    expect(opened?.containerPort).toBe(port);
    const paths = [container.startupProbe, container.readinessProbe, container.livenessProbe].map(
      ({ httpGet }) => httpGet,
    );
    expect(paths).toEqual(["/healthz", "/readyz", "/healthz"].map((where) => ({ path: where, port: opened?.name })));
  });

  test("is given more time to stop than a drain takes", () => {
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS + 5);
    if (name === "airlock-gateway") expect(container.lifecycle?.preStop).toBeDefined();
  });
});
