# syntax=docker/dockerfile:1

# The embedded Postgres (about 190 MB) is for evaluation: docker build --build-arg EMBEDDED=true .
ARG EMBEDDED=false

FROM node:24-bookworm-slim AS build
ARG EMBEDDED
# What the image is made of, shown by waybill_build_info: --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts/build ./scripts/build
COPY console ./console
COPY src ./src
RUN npm run build \
  && echo "$COMMIT" > dist/commit \
  && if [ "$EMBEDDED" = true ]; then npm prune --omit=dev; else npm prune --omit=dev --omit=optional; fi \
  && find node_modules dist -name '*.map' -delete

FROM node:24-bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir /data \
  && chown node:node /data
ENV NODE_ENV=production WAYBILL_DATA_DIR=/data HOST=0.0.0.0 METRICS_HOST=0.0.0.0
# glibc returns freed memory of large mail to the system: see docs/operations.md, Memory.
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY scripts ./scripts
USER node
# Nothing else is written: the root file system may be read-only.
VOLUME /data
# HTTP, metrics and health, inbound SMTP, SMTP submission (STARTTLS; TLS), DNS
EXPOSE 3000 9464 2526 2587 2465 5354/tcp 5354/udp
# tini reaps the embedded server's children and forwards signals.
ENTRYPOINT ["tini", "--"]
CMD ["node", "--max-semi-space-size=16", "dist/main.js"]
# A start that migrates large tables may take an hour, as in deploy/kubernetes; the first success ends the period.
HEALTHCHECK --interval=10s --timeout=10s --start-period=1h \
  CMD ["node", "scripts/healthcheck.mjs"]
