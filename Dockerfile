# syntax=docker/dockerfile:1

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json nest-cli.json ./
COPY src ./src
RUN npx nest build && npm prune --omit=dev

# Production requires DATABASE_URL and MASTER_KEY; without them the embedded Postgres keeps its data in /data.
FROM node:24-bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir /data \
  && chown node:node /data
ENV NODE_ENV=production WAYBILL_DATA_DIR=/data HOST=0.0.0.0 METRICS_HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY scripts ./scripts
USER node
VOLUME /data
EXPOSE 3000 9464 2526
# tini reaps the embedded server's children and forwards signals.
ENTRYPOINT ["tini", "--"]
CMD ["node", "dist/main.js"]
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "scripts/healthcheck.mjs"]
