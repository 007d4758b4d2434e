# The operator as it runs in a cluster: bundled JavaScript and its dependencies on Node 24, as a user without a name, on a root file system
# that may be read-only. Nothing is written but to standard output.
FROM docker.io/library/node:24-bookworm-slim AS build
WORKDIR /src
# First what changes seldom, so that the installed dependencies stay in the layer cache.
COPY package.json package-lock.json .npmrc ./
COPY tools ./tools
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build

# The demo, from the sources, as in the repository: docker-compose.yml builds it with --target demo.
FROM build AS demo
USER 65532:65532
ENTRYPOINT ["node", "demo/main.ts"]

# What demo/playground puts into a cluster: a simulated DigitalOcean, and the heartbeats of Nodes that no machine stands behind.
FROM docker.io/library/node:24-bookworm-slim AS playground
WORKDIR /app
COPY package.json ./
COPY simulator ./simulator
COPY demo/playground ./demo/playground
COPY --from=build /src/node_modules/yaml ./node_modules/yaml
USER 65532:65532
ENTRYPOINT ["node", "demo/playground/main.ts"]

FROM build AS pruned
# npm keeps the compiler, which a library names as an optional companion.
RUN npm prune --omit=dev --ignore-scripts && rm -rf node_modules/typescript node_modules/@typescript node_modules/.bin/tsc \
  && mkdir /app && mv package.json LICENSE node_modules bin dist /app
# What V8 makes of the bundle, for each start: it counts only at the same place and under the same options as below.
RUN NODE_COMPILE_CACHE=/app/compile-cache node --max-semi-space-size=16 /app/bin/routedip-operator.mjs --version

# The last stage is what a build without --target makes.
FROM docker.io/library/node:24-bookworm-slim
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/compile-cache
WORKDIR /app
COPY --from=pruned /app/package.json /app/LICENSE ./
COPY --from=pruned /app/node_modules ./node_modules
COPY --from=pruned /app/bin ./bin
COPY --from=pruned /app/dist ./dist
COPY --from=pruned /app/compile-cache ./compile-cache
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
# Metrics and probes.
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# With little memory V8 makes its young generation so small that what lives for a moment is collected as if it were old, which takes more of it and of the CPU.
ENTRYPOINT ["node", "--max-semi-space-size=16", "/app/bin/routedip-operator.mjs"]
CMD ["run", "--metrics-bind-addr", ":8080"]
