FROM node:24-bookworm-slim AS manifests
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY shared/package.json shared/
COPY gateway/package.json gateway/
COPY workers/package.json workers/
COPY infra/package.json infra/
COPY bench/package.json bench/
COPY clients/sdk/package.json clients/sdk/
COPY clients/cli/package.json clients/cli/

# Install scripts only fetch a Node and the embedded Postgres, neither of which an image needs.
FROM manifests AS build
RUN npm ci --ignore-scripts
COPY turbo.json tsconfig.base.json ./
COPY shared shared
COPY gateway gateway
RUN TURBO_TELEMETRY_DISABLED=1 node_modules/.bin/turbo run build --filter=@airlock/gateway...

FROM manifests AS production
RUN npm ci --ignore-scripts --omit=dev --workspace=@airlock/gateway --workspace=@airlock/shared
COPY --from=build /app/shared/dist shared/dist
COPY --from=build /app/gateway/dist gateway/dist

FROM node:24-bookworm-slim
ENV NODE_ENV=production AIRLOCK_HOME=/var/lib/airlock AIRLOCK_HOST=0.0.0.0 AIRLOCK_PORT=4001
WORKDIR /app
# A volume takes its owner from here: large files are kept in it, unless a bucket is configured.
RUN install -d -o node -g node /var/lib/airlock/artifacts
# Owned by root: the program can read its own code but not change it.
COPY --from=production /app /app
USER node
EXPOSE 4001
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.AIRLOCK_PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node is the first process and gets the signals itself; npm or a shell in front would swallow them.
CMD ["node", "--conditions=built", "gateway/dist/main.js"]
