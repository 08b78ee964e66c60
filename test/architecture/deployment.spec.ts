import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getMetadataStorage } from 'class-validator';
import { CORE_SCHEMA, load, loadAll, mergeTag } from 'js-yaml';
import { Environment } from '../../src/config/environment';

const ROOT = join(__dirname, '../..');
const BASE = 'deploy/kubernetes/base';
const UNIT = 'deploy/systemd/waybill@.service';
const ROLES = ['api', 'worker', 'inbound', 'dns', 'submission'];
const COMPONENTS = ['deploy/kubernetes/dns', 'deploy/kubernetes/submission'];
/** Variables of other programs: Postgres, Node, and what compose.yaml alone reads. */
const OTHERS = ['NODE_ENV', 'POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD'];

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const yamlOf = (folder: string) => readdirSync(join(ROOT, folder)).map((file) => `${folder}/${file}`);
const manifests = [BASE, ...COMPONENTS].flatMap(yamlOf).flatMap((file) => loadAll(read(file)) as any[]);
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);

const metadatas = getMetadataStorage().getTargetValidationMetadatas(Environment, '', true, false);
const variables = new Set([...metadatas.map(({ propertyName }) => propertyName), ...OTHERS]);
const unknown = (names: readonly string[]) => names.filter((name) => !variables.has(name));
const defaults = new Environment();
/** What a process may take from the signal to its end, see docs/operations.md. */
const stopSeconds = (delay: number) => delay + defaults.DRAIN_SECONDS + 15;

describe('compose.yaml', () => {
  const { services } = load(read('compose.yaml'), { schema: CORE_SCHEMA.withTags(mergeTag) }) as {
    services: Record<string, any>;
  };
  const own = ROLES.map((role) => [role, services[role]] as const);

  it('runs every role by itself, with variables that exist', () => {
    for (const [role, { environment }] of own) {
      expect(environment.WAYBILL_ROLES).toBe(role);
      expect(unknown(Object.keys(environment))).toEqual([]);
    }
    expect(unknown(Object.keys(services.postgres.environment))).toEqual([]);
  });

  it('waits for the database, leaves time to stop, and keeps what is written', () => {
    for (const [, service] of own) {
      expect(service.depends_on.postgres.condition).toBe('service_healthy');
      const delay = Number(service.environment.SHUTDOWN_DELAY_SECONDS ?? 0);
      expect(Number.parseInt(service.stop_grace_period, 10)).toBeGreaterThanOrEqual(stopSeconds(delay));
      expect([service.read_only, service.cap_drop, service.volumes.length]).toEqual([true, ['ALL'], 1]);
    }
    expect(services.postgres).toMatchObject({ healthcheck: { test: expect.anything() }, volumes: [expect.anything()] });
  });

  it('publishes the ports that the service listens on', () => {
    const published = own.flatMap(([, { ports = [] }]) => ports.map((port: string) => port.split(':').at(-1)));
    const { PORT, INBOUND_SMTP_PORT, DNS_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT } = defaults;
    const mail = [SUBMISSION_PORT, SUBMISSIONS_PORT].map(String);
    expect(published).toEqual([`${PORT}`, `${INBOUND_SMTP_PORT}`, `${DNS_PORT}/udp`, `${DNS_PORT}/tcp`, ...mail]);
    // Also with a `.env` that has other values of these.
    const listening = { HOST: '0.0.0.0', PORT, INBOUND_SMTP_PORT, DNS_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT };
    for (const [, { environment }] of own) {
      expect(environment).toMatchObject({ ...listening, WAYBILL_DATA_DIR: '/data' });
    }
  });
});

describe('the image', () => {
  const dockerfile = read('Dockerfile');

  it('exposes every port, runs as a user and checks its health', () => {
    const exposed = /^EXPOSE (.*)$/m.exec(dockerfile)?.[1]?.split(' ');
    const { PORT, METRICS_PORT, INBOUND_SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT, DNS_PORT } = defaults;
    const smtp = [INBOUND_SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT];
    expect(exposed).toEqual([PORT, METRICS_PORT, ...smtp, `${DNS_PORT}/tcp`, `${DNS_PORT}/udp`].map(String));
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(existsSync(join(ROOT, /^ {2}CMD \["node", "(.*)"\]$/m.exec(dockerfile)![1]!))).toBe(true);
  });
});

describe('the Kubernetes manifests', () => {
  const deployments = ofKind('Deployment');

  it('are what their kustomizations list', () => {
    for (const folder of [BASE, ...COMPONENTS]) {
      const { resources } = load(read(`${folder}/kustomization.yaml`)) as { resources: string[] };
      expect([...resources, 'kustomization.yaml'].sort()).toEqual(readdirSync(join(ROOT, folder)).sort());
    }
  });

  it('run every role by itself, with variables that exist', () => {
    const roles = deployments.map(({ spec }) => spec.template.spec.containers[0].env[0]);
    expect(roles).toEqual(expect.arrayContaining(ROLES.map((value) => ({ name: 'WAYBILL_ROLES', value }))));
    for (const { data } of ofKind('ConfigMap')) expect(unknown(Object.keys(data as object))).toEqual([]);
  });

  it('select their own pods, one budget each', () => {
    for (const { metadata, spec } of deployments) {
      const labels = { 'app.kubernetes.io/component': metadata.name };
      expect([spec.selector.matchLabels, spec.template.metadata.labels]).toEqual([labels, labels]);
    }
    const names = (kind: string) => ofKind(kind).map(({ metadata }) => metadata.name);
    expect(names('PodDisruptionBudget').sort()).toEqual([...ROLES].sort());
    for (const name of names('Service')) expect(ROLES).toContain(name);
    for (const { spec } of ofKind('HorizontalPodAutoscaler')) expect(ROLES).toContain(spec.scaleTargetRef.name);
  });

  it('probe every process, restrict it, and leave it time to stop', () => {
    const [{ data }] = ofKind('ConfigMap');
    for (const { spec } of deployments) {
      const { containers, securityContext, terminationGracePeriodSeconds } = spec.template.spec;
      const [container] = containers;
      expect([container.readinessProbe, container.startupProbe, container.livenessProbe]).toMatchObject([
        { httpGet: { path: '/health/startup', port: 'metrics' } },
        { httpGet: { path: '/health', port: 'metrics' } },
        { httpGet: { path: '/health', port: 'metrics' } },
      ]);
      // A start may build indexes of large tables, and nothing listens until it has.
      const { periodSeconds, failureThreshold } = container.startupProbe;
      expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(3_600);
      expect(securityContext.runAsNonRoot).toBe(true);
      // For each Service of the namespace they set a variable: DNS_PORT=tcp://… for one named dns.
      expect(spec.template.spec.enableServiceLinks).toBe(false);
      expect(container.securityContext.readOnlyRootFilesystem).toBe(true);
      expect(container.resources).toMatchObject({ requests: expect.anything(), limits: { memory: expect.anything() } });
      expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(stopSeconds(Number(data.SHUTDOWN_DELAY_SECONDS)));
    }
  });

  it('let in what each role serves', () => {
    const policies = ofKind('NetworkPolicy').map(({ metadata }) => metadata.name);
    expect(policies.sort()).toEqual(['api', 'dns', 'inbound', 'submission', 'waybill']);
    const ports = new Map(
      deployments.map(({ metadata, spec }) => [metadata.name, spec.template.spec.containers[0].ports]),
    );
    for (const { metadata, spec } of ofKind('Service')) {
      const named = ports.get(metadata.name).map(({ name }: { name: string }) => name);
      for (const { targetPort } of spec.ports) expect(named).toContain(targetPort);
    }
  });
});

const ofTracing = (name: string) => name.startsWith('OTEL_');
/** Those of the service alone. */
const own = [...variables].filter((name) => !OTHERS.includes(name) && !ofTracing(name));

describe('.env.example', () => {
  const shown = new Map(
    [...read('.env.example').matchAll(/^#([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
  );

  it('has every variable of the service, and no other', () => {
    const named = [...shown.keys()].filter((name) => !ofTracing(name));
    expect(named.sort()).toEqual(own.toSorted());
  });

  it('shows the defaults of those that have one', () => {
    const set = Object.entries(defaults).filter(([name, value]) => shown.has(name) && value !== undefined);
    expect(set.length).toBeGreaterThan(40);
    expect(set.map(([name]) => [name, shown.get(name)])).toEqual(set.map(([name, value]) => [name, String(value)]));
  });
});

describe('docs/configuration.md', () => {
  it('has every variable of the service, and no other', () => {
    const named = [...read('docs/configuration.md').matchAll(/^\| ([^|]*)\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([A-Z][A-Z0-9_]*)`/g)].map(([, name = '']) => name),
    );
    expect(named.filter((name) => !ofTracing(name)).sort()).toEqual(own.toSorted());
  });
});

describe('numbers that stand in several places', () => {
  it('are the ports that the service listens on', () => {
    const { PORT, METRICS_PORT, INBOUND_SMTP_PORT, DNS_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT } = defaults;
    const ports: Record<string, number> = {
      ...{ http: PORT, metrics: METRICS_PORT, smtp: INBOUND_SMTP_PORT, 'dns-udp': DNS_PORT, 'dns-tcp': DNS_PORT },
      ...{ submission: SUBMISSION_PORT, submissions: SUBMISSIONS_PORT },
    };
    const opened = ofKind('Deployment').flatMap(({ spec }) => spec.template.spec.containers[0].ports);
    expect(opened.length).toBeGreaterThan(ROLES.length);
    for (const { name, containerPort } of opened) expect([name, containerPort]).toEqual([name, ports[name]]);
    for (const { spec } of ofKind('Deployment')) {
      expect(spec.template.metadata.annotations['prometheus.io/port']).toBe(String(METRICS_PORT));
    }
    const letIn = ofKind('NetworkPolicy').flatMap(({ spec }) => spec.ingress.flatMap((rule: any) => rule.ports));
    const numbers = letIn.map(({ port }) => port).filter((port) => typeof port === 'number');
    expect(numbers).toEqual([METRICS_PORT]);
    expect(letIn.map(({ port }) => port).filter((port) => typeof port === 'string' && !(port in ports))).toEqual([]);
  });

  it('are the connections of a process: its pool, and one for its health checks', () => {
    const each = defaults.DATABASE_POOL_SIZE + 1;
    const row = /^\| connections to Postgres \((\d+) each, and 2 a worker\)(.*)$/m.exec(read('docs/scaling.md'));
    const sums = row?.[2]?.match(/\d+/g)?.map(Number);
    // Processes of api and worker, as the row above it has them.
    const processes = [
      [1, 1],
      [2, 2],
      [4, 20],
    ] as const;
    expect([Number(row?.[1]), sums]).toEqual([
      each,
      processes.map(([api, worker]) => (api + worker) * each + 2 * worker),
    ]);
  });

  it('are the version of this release', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const { images } = load(read(`${BASE}/kustomization.yaml`)) as { images: { newTag: string }[] };
    expect(images.map(({ newTag }) => newTag)).toEqual([version]);
    expect(/newTag: ([\d.]+)/.exec(read('docs/production.md'))?.[1]).toBe(version);
  });

  it('are the oldest Postgres and Node that work', () => {
    const oldest = /OLDEST_POSTGRES = (\d+)/.exec(read('src/cli/doctor/database-checks.ts'))?.[1];
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    const [, node, postgres] = /Node ([\d.]+) or newer, Postgres (\d+) or newer/.exec(read('docs/production.md')) ?? [];
    expect(postgres).toBe(oldest);
    expect(engines.node).toContain(node);
    expect(read('README.md')).toContain(`any Postgres ${oldest}+`);
  });
});

describe('the component that encrypts mail that comes in', () => {
  it('adds to lists that the deployment has, variables that exist and a volume that it mounts', () => {
    const { patches } = load(read('deploy/kubernetes/inbound-tls/kustomization.yaml')) as {
      patches: { target: object; patch: string }[];
    };
    expect(patches.map(({ target }) => target)).toEqual([{ kind: 'Deployment', name: 'inbound' }]);
    const operations = load(patches[0]!.patch) as { op: string; path: string; value: { name: string } }[];
    const inbound = ofKind('Deployment').find(({ metadata }) => metadata.name === 'inbound');
    const namesIn = (list: string) =>
      operations.flatMap(({ path, value }) => (path.endsWith(list) ? [value.name] : []));
    for (const { op, path } of operations) {
      const list = path.split('/').slice(1, -1);
      expect([op, list.reduce((value, name) => value[name], inbound)]).toEqual(['add', expect.any(Array)]);
    }
    expect(unknown(namesIn('/env/-'))).toEqual([]);
    expect(namesIn('/volumeMounts/-')).toEqual(namesIn('/volumes/-'));
  });
});

describe('the systemd unit', () => {
  it('leaves the process time to stop', () => {
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(read(UNIT))?.[1])).toBeGreaterThanOrEqual(stopSeconds(0));
    const [, set = ''] = /^Environment=(.*)$/m.exec(read(UNIT)) ?? [];
    expect(unknown(set.split(' ').map((pair) => pair.split('=')[0]!))).toEqual([]);
  });

  it('bounds memory as the image does, and `npm start`', () => {
    const allocator = (text: string) => /^(?:ENV |Environment=)(MALLOC_.*)$/m.exec(text)?.[1];
    expect(allocator(read(UNIT))).toBe('MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072');
    expect(allocator(read('Dockerfile'))).toBe(allocator(read(UNIT)));
    const command = 'node --max-semi-space-size=16 dist/main.js';
    expect(/^ExecStart=\/usr\/bin\/(.*)$/m.exec(read(UNIT))?.[1]).toBe(command);
    expect(JSON.parse(/^CMD (.*)$/m.exec(read('Dockerfile'))![1]!)).toEqual(command.split(' '));
    expect(JSON.parse(read('package.json')).scripts.start).toBe(command);
  });

  it('is valid for systemd, where it is installed', () => {
    if (!existsSync('/usr/bin/systemd-analyze')) return;
    const verify = () =>
      execFileSync('/usr/bin/systemd-analyze', ['verify', '--man=no', join(ROOT, UNIT)], { stdio: 'pipe' });
    // The binary and the user belong to the machine that runs it.
    const complaints = String(complaintOf(verify)).split('\n');
    expect(
      complaints.filter((line) => line.includes('waybill@') && !/not executable|does not exist/.test(line)),
    ).toEqual([]);
  });
});

function complaintOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as { stderr: Buffer }).stderr;
  }
}
