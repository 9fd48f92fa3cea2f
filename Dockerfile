# The base is pinned by version: a digest would be of one platform's image, and this builds on amd64 and arm64.
FROM node:24.11.1-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY sandbox/package.json ./sandbox/
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY types ./types
COPY src ./src
COPY sandbox ./sandbox
RUN npm run build
# What runs needs neither compiler, bundler nor tests, and one platform's native part.
RUN npm prune --omit=dev --no-audit --no-fund && node scripts/prune-image.mjs

FROM node:24.11.1-bookworm-slim
ENV NODE_ENV=production NODE_OPTIONS=--enable-source-maps
# The roots that gRPC over TLS is checked against; the slim image has none.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY realisation-rules.yaml schedules.yaml ./
COPY migrations ./migrations
# `ebrc`, in any folder.
RUN chmod 755 dist/starter/cli.js && ln -s /app/dist/starter/cli.js /usr/local/bin/ebrc
# What is done beside the worker without --by is recorded under the user's name. A volume mounted here takes its owner from the image.
RUN usermod --login ebrc node && install -d -o ebrc -g node /var/lib/ebrc/documents /var/lib/ebrc/sandbox
ENV EBRC_DOCUMENTS=/var/lib/ebrc/documents EBRC_HEALTH=127.0.0.1:9465
USER ebrc
# Ready: PostgreSQL, Temporal and the document store can be used, every queue is polled, and it does not stop. The start period is longer than
# a worker waits for its servers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=370s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9465/readyz').then(({ok}) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node itself is process 1, so that SIGTERM reaches the worker, which ends in order.
CMD ["node", "dist/worker.js"]
