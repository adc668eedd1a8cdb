# Tallystick's image: server, worker, migration and command line (docs/operate/image.md). One base image of an exact version;
# to pin its bytes too: --build-arg BASE=node:24.21.0-trixie-slim@sha256:…
ARG BASE=node:24.21.0-trixie-slim

# Builds the console. Only its files go into the image, not its tools.
FROM ${BASE} AS console
WORKDIR /app
COPY package.json package-lock.json ./
COPY sdk/package.json sdk/
COPY cli/package.json cli/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY sdk sdk
COPY src src
COPY console console
COPY tools tools
RUN node tools/build-console.ts

FROM ${BASE} AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /app

# Installs packages before the sources are copied, so that a change of sources does not repeat it. No install script
# runs: sodium-native includes its binaries. Left out are optional packages (Node, which the base has, and Postgres),
# links to our own packages, binaries of other platforms, and files that only developers read.
COPY package.json package-lock.json ./
COPY sdk/package.json sdk/
COPY cli/package.json cli/
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/tallystick node_modules/@tallystick node_modules/.bin \
 && find node_modules/sodium-native/prebuilds -mindepth 1 -maxdepth 1 ! -name "linux-$(node -p process.arch)" -exec rm -rf {} + \
 && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.bare' \) -delete

COPY LICENSE ./
COPY migrations migrations
COPY sdk sdk
COPY cli cli
COPY worker worker
COPY src src

# Makes the files of the last stage: node, the libraries that node and libsodium load, a user, and package metadata by
# which scanners find versions.
RUN mkdir -p /image/data /image/tmp /image/etc /image/var/lib/dpkg/status.d .compile-cache \
 && { echo /usr/local/bin/node; ldd /usr/local/bin/node node_modules/sodium-native/prebuilds/linux-*/*.node | grep -oE '/[^ :]+\.so[^ :]*'; } \
  | sort -u | xargs cp --parents -L -t /image \
 && cp -L /etc/os-release /image/etc/os-release \
 && for package in libc6 libgcc-s1 libstdc++6; do dpkg-query -s "$package" > "/image/var/lib/dpkg/status.d/$package"; done \
 && echo 'tallystick:x:65532:65532:tallystick:/tmp:/none' > /image/etc/passwd \
 && echo 'tallystick:x:65532:' > /image/etc/group \
 && echo 'hosts: files dns' > /image/etc/nsswitch.conf \
 && chmod -R u=rwX,go=rX /app \
 && chmod 1777 /image/tmp \
 && chown 65532:65532 /image/data

# Strips types and compiles all modules once at build time instead of at each start: every command loads its imports.
# The cache's name contains the user; afterwards it belongs to root, so that the user cannot change it.
RUN chown 65532:65532 .compile-cache \
 && NODE_COMPILE_CACHE=/app/.compile-cache setpriv --reuid 65532 --regid 65532 --clear-groups node --input-type=module --eval \
  "import { COMMANDS } from '/app/src/run/command.ts'; for (const { load } of Object.values(COMMANDS)) await load()" \
 && chown -R 0:0 .compile-cache \
 && chmod -R u=rwX,go=rX .compile-cache

# No shell, no npm, no package manager: only what runs.
FROM scratch
ARG REVISION=""
LABEL org.opencontainers.image.title="Tallystick" \
      org.opencontainers.image.description="An open, self-hosted accountability ledger for AI-agent fleets" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image /
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/package.json /app/LICENSE /app/
COPY --from=build /app/migrations /app/migrations
COPY --from=build /app/sdk /app/sdk
COPY --from=build /app/cli /app/cli
COPY --from=build /app/worker /app/worker
COPY --from=build /app/src /app/src
COPY --from=console /app/console/dist /app/console/dist
COPY --from=build /app/.compile-cache /app/.compile-cache
WORKDIR /app
ENV PATH=/usr/local/bin \
    HOME=/tmp \
    NODE_ENV=production \
    NODE_COMPILE_CACHE=/app/.compile-cache \
    TALLYSTICK_HOST=0.0.0.0 \
    TALLYSTICK_METRICS_PORT=9464 \
    TALLYSTICK_DATA=/data
USER 65532:65532
EXPOSE 3000 9464
# No HEALTHCHECK: Kubernetes ignores it and has its own probes.
ENTRYPOINT ["/usr/local/bin/node", "/app/src/run/command.ts"]
