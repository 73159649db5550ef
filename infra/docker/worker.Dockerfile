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
COPY workers workers
RUN TURBO_TELEMETRY_DISABLED=1 node_modules/.bin/turbo run build --filter=@airlock/workers...

FROM manifests AS production
RUN npm ci --ignore-scripts --omit=dev --workspace=@airlock/workers --workspace=@airlock/shared
COPY --from=build /app/shared/dist shared/dist
COPY --from=build /app/workers/dist workers/dist

FROM node:24-bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap ca-certificates git openssh-client \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production AIRLOCK_HOME=/var/lib/airlock AIRLOCK_CACHE=/tmp/airlock-cache \
  AIRLOCK_HEALTH_HOST=0.0.0.0 AIRLOCK_HEALTH_PORT=4002
WORKDIR /app
# A volume takes its owner from here: large files are kept in it, unless a bucket is configured.
RUN install -d -o node -g node /var/lib/airlock/artifacts
# Owned by root: the program can read its own code but not change it.
COPY --from=production /app /app
USER node
EXPOSE 4002
# Node is the first process and gets the signals itself; npm or a shell in front would swallow them.
CMD ["node", "--conditions=built", "workers/dist/main.js"]
