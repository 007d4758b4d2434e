import { describe, expect, test } from 'vitest';
import type { JobTemplates } from '../../../../actors/ports/directory.ts';
import { ProviderError } from '../../../../actors/ports/errors.ts';
import type { JobRequest } from '../../../../actors/ports/job-driver.ts';
import { inputHash, jobName, labelValue } from '../../../../adapters/kubernetes/jobs/names.ts';
import { renderJob } from '../../../../adapters/kubernetes/jobs/render.ts';
import { jobSpec, NO_SECRETS, requestOf, templatesOf } from './support.ts';

const NOW = Date.parse('2026-11-02T10:00:00Z');
const LEGAL_LABEL = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[];
  readonly envFrom?: readonly unknown[];
  readonly volumeMounts: readonly unknown[];
  readonly [field: string]: unknown;
}

interface Job {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly ownerReferences: readonly unknown[];
    readonly finalizers?: readonly string[];
  };
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>>; readonly annotations: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly Container[];
        readonly initContainers?: readonly Container[];
        readonly volumes: readonly unknown[];
      };
    };
    readonly [field: string]: unknown;
  };
}

const render = (
  template: unknown = jobSpec(),
  request: JobRequest = requestOf(),
  secrets = NO_SECRETS,
  templates: Partial<JobTemplates> = {},
): Job => renderJob({ templates: templatesOf(templates), template, secrets, request, standard: '', now: NOW }) as unknown as Job;

/** The same in a namespace that enforces this standard. */
const renderUnder = (standard: string, template: unknown): Job =>
  renderJob({ templates: templatesOf(), template, secrets: NO_SECRETS, request: requestOf(), standard, now: NOW }) as unknown as Job;

const containerOf = (job: Job): Container => {
  const [container] = job.spec.template.spec.containers;
  if (!container) throw new Error('the Job has no container');
  return container;
};

const envOf = (container: Container): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(container.env.map(({ name, value }) => [name, value]));

describe('a Job', () => {
  test('belongs to its class, in the namespace of Jobs', () => {
    const { metadata } = render();
    expect(metadata.namespace).toBe('jobs');
    expect(metadata.ownerReferences).toEqual([
      { apiVersion: 'routedip.io/v1alpha1', kind: 'ClusterRoutedIPClass', name: 'http', uid: 'uid-class', controller: true },
    ]);
  });

  test('says by labels for whom it works, and so do its Pods', () => {
    const { metadata, spec } = render();
    expect(metadata.labels).toMatchObject({
      'routedip.io/purpose': 'updateRoutedIP',
      'routedip.io/class': 'http',
      'routedip.io/routedip-namespace': 'web',
      'routedip.io/routedip-name': 'ingress',
      'routedip.io/routedip-uid': 'uid-1',
      'routedip.io/address': '192.0.2.10',
      'routedip.io/epoch': '3',
    });
    expect(spec.template.metadata.labels).toMatchObject(metadata.labels);
  });

  test('of a firewall that many share names no RoutedIP and no address', () => {
    const { metadata } = render(jobSpec(), requestOf({ purpose: 'updateFirewall', action: 'open', routedIP: null, env: {} }));
    expect(metadata.labels['routedip.io/purpose']).toBe('updateFirewall');
    expect(Object.keys(metadata.labels).filter((key) => /\/(routedip-|address)/.test(key))).toEqual([]);
  });

  test('that creates cannot be taken away before what it did is known, and no other one is kept', () => {
    expect(render(jobSpec(), requestOf({ action: 'create' })).metadata.finalizers).toEqual(['routedip.io/finalizer']);
    expect(render().metadata.finalizers).toBeUndefined();
  });

  test('is tried once, has a deadline and goes after an hour, unless its template says otherwise', () => {
    expect(render().spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 300, ttlSecondsAfterFinished: 3600 });
    const own = { backoffLimit: 2, activeDeadlineSeconds: 30, ttlSecondsAfterFinished: 5 };
    expect(render(jobSpec({ spec: own })).spec).toMatchObject(own);
  });

  test('leaves image, command, resources, account and security to the template, and the template as it was', () => {
    const template = jobSpec({
      pod: { serviceAccountName: 'mover', securityContext: { runAsNonRoot: true } },
      container: { command: ['sh'], args: ['$(ROUTEDIP_ADDRESS)'], resources: { limits: { cpu: '1' } } },
    });
    const before = structuredClone(template);
    const { spec } = render(template);
    expect(spec.template.spec).toMatchObject({
      serviceAccountName: 'mover',
      securityContext: { runAsNonRoot: true },
      restartPolicy: 'Never',
    });
    expect(spec.template.spec.containers).toEqual([
      expect.objectContaining({
        name: 'platform',
        image: 'curl:8',
        command: ['sh'],
        args: ['$(ROUTEDIP_ADDRESS)'],
        resources: { limits: { cpu: '1' } },
      }),
    ]);
    expect(template).toEqual(before);
  });

  test('tells every container the contract, those of the start too', () => {
    const { spec } = render(jobSpec({ pod: { initContainers: [{ name: 'first', image: 'curl:8' }] } }));
    const containers = [...(spec.template.spec.initContainers ?? []), ...spec.template.spec.containers];
    expect(containers.map(({ name }) => name)).toEqual(['first', 'platform']);
    for (const container of containers) {
      expect(envOf(container)).toMatchObject({
        ROUTEDIP_CONTRACT: '1',
        ROUTEDIP_ACTION: 'assign',
        ROUTEDIP_CLASS: 'example.com/http',
        ROUTEDIP_ADDRESS: '192.0.2.10',
        ROUTEDIP_EPOCH: '3',
        ROUTEDIP_ATTEMPT: '1',
        ROUTEDIP_DEADLINE: '2026-11-02T10:05:00.000Z',
        ROUTEDIP_FIREWALL_MAP_FILE: '/etc/routedip/request.json',
      });
      expect(container.volumeMounts).toContainEqual({ name: 'routedip-request', mountPath: '/etc/routedip', readOnly: true });
    }
  });

  test("tells the template's own variables after the contract's, which they may name but not replace", () => {
    const own = [
      { name: 'URL', value: 'https://platform/$(ROUTEDIP_ADDRESS)' },
      { name: 'ROUTEDIP_ADDRESS', value: '198.51.100.1' },
    ];
    const { env } = containerOf(render(jobSpec({ container: { env: own } })));
    expect(env.filter(({ name }) => name === 'ROUTEDIP_ADDRESS')).toEqual([{ name: 'ROUTEDIP_ADDRESS', value: '192.0.2.10' }]);
    expect(env.at(-1)).toEqual(own[0]);
  });

  test('has the Secrets of its class in its environment, the optional ones if there are any, and what the template takes from elsewhere', () => {
    const secrets = [
      { namespace: 'jobs', name: 'platform', optional: false },
      { namespace: 'jobs', name: 'extra', optional: true },
    ];
    const from = [{ configMapRef: { name: 'settings' } }];
    const { envFrom } = containerOf(render(jobSpec({ container: { envFrom: from } }), requestOf(), secrets));
    expect(envFrom).toEqual([{ secretRef: { name: 'platform' } }, { secretRef: { name: 'extra', optional: true } }, ...from]);
    expect(containerOf(render())).not.toHaveProperty('envFrom');
  });

  test('can read the request in a file', () => {
    const request = { ports: [{ port: 80, protocol: 'TCP', nodes: [] }], addOnly: true, owned: [] };
    const { template } = render(jobSpec(), requestOf({ request })).spec;
    expect(JSON.parse(template.metadata.annotations['routedip.io/request'] ?? '')).toEqual(request);
    expect(template.spec.volumes).toEqual([
      {
        name: 'routedip-request',
        downwardAPI: { items: [{ path: 'request.json', fieldRef: { fieldPath: "metadata.annotations['routedip.io/request']" } }] },
      },
    ]);
  });

  test('is refused for a request larger than annotations may be, whatever its template adds to it', () => {
    const large = (bytes: number) => requestOf({ request: 'x'.repeat(bytes) });
    expect(render(jobSpec(), large(262_000)).metadata.name).toMatch(/^rip-r-/);
    const refusals = [
      () => render(jobSpec(), large(262_144)),
      () => render({ template: { ...Object(jobSpec()).template, metadata: { annotations: { own: 'x'.repeat(500) } } } }, large(262_000)),
    ];
    for (const refusal of refusals) {
      expect(refusal).toThrow(ProviderError);
      expect(refusal).toThrow(/takes \d+ bytes of the 262144/);
    }
  });

  test('has a short name of its own for each request and each try, the same whenever it is asked for', () => {
    const names = [
      requestOf(),
      requestOf({ attempt: 'try-2' }),
      requestOf({ epoch: 4 }),
      requestOf({ action: 'find' }),
      requestOf({ subject: 'uid-2' }),
      requestOf({ env: { ROUTEDIP_NODE: 'b' } }),
      requestOf({ purpose: 'updateFirewall' }),
    ].map(jobName);
    expect(new Set(names).size).toBe(7);
    for (const name of names) expect(name).toMatch(/^rip-[rf]-[0-9a-f]{40}$/);
    expect(jobName(requestOf())).toBe(names[0]);
  });

  test('is about the same for another try or another template, and about something else for another node', () => {
    const { env } = requestOf();
    const again = requestOf({ attempt: 'try-2', env: { ...env, ROUTEDIP_ATTEMPT: '2' } });
    expect(render(jobSpec({ container: { image: 'curl:9' } }), again).metadata.annotations['routedip.io/input-hash']).toBe(
      inputHash(requestOf()),
    );
    expect(inputHash(requestOf({ env: { ...env, ROUTEDIP_NODE: 'b' } }))).not.toBe(inputHash(requestOf()));
    expect(inputHash(requestOf({ env: Object.fromEntries(Object.entries(env).reverse()) }))).toBe(inputHash(requestOf()));
  });
});

describe('the value of a label', () => {
  test.each(['ingress', 'a', 'a.b-c_d', 'x'.repeat(63)])('is the text itself: %s', (text) => expect(labelValue(text)).toBe(text));

  test.each(['example.com/http', 'x'.repeat(64), `${'x'.repeat(80)}.example.com`, '-ends-', '...', 'ünïcode', `${'a'.repeat(51)}--b/`])(
    'is legal for %s',
    (text) => {
      expect(labelValue(text)).toMatch(LEGAL_LABEL);
      expect(labelValue(text)).not.toBe(text);
    },
  );

  test('differs for texts that differ only in what is not legal, or behind what there is room for', () => {
    expect(labelValue('a/b')).not.toBe(labelValue('a:b'));
    expect(labelValue(`${'x'.repeat(80)}a`)).not.toBe(labelValue(`${'x'.repeat(80)}b`));
  });
});

/** All that the standard asks of a container which says nothing. */
const RESTRICTED = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  runAsUser: 65_532,
  seccompProfile: { type: 'RuntimeDefault' },
  capabilities: { drop: ['ALL'] },
};

describe('a Job in a namespace that enforces the Pod security standard restricted', () => {
  test('says in every container what the standard asks for, those of the start too, where its template says nothing', () => {
    const { spec } = renderUnder('restricted', jobSpec({ pod: { initContainers: [{ name: 'first', image: 'curl:8' }] } }));
    const containers = [...(spec.template.spec.initContainers ?? []), ...spec.template.spec.containers];
    expect(containers.map(({ name }) => name)).toEqual(['first', 'platform']);
    for (const { securityContext } of containers) expect(securityContext).toEqual(RESTRICTED);
  });

  test.each(['', 'baseline', 'privileged'])('and in one that enforces "%s" nothing that its template does not say', (standard) => {
    const context = { runAsUser: 0 };
    expect(containerOf(renderUnder(standard, jobSpec())).securityContext).toBeUndefined();
    expect(containerOf(renderUnder(standard, jobSpec({ container: { securityContext: context } }))).securityContext).toEqual(context);
  });

  test('keeps what its template says of a container, if it will be refused', () => {
    const own = {
      allowPrivilegeEscalation: true,
      runAsNonRoot: false,
      seccompProfile: { type: 'Unconfined' },
      capabilities: { drop: ['NET_RAW'], add: ['NET_BIND_SERVICE'] },
      readOnlyRootFilesystem: true,
    };
    expect(containerOf(renderUnder('restricted', jobSpec({ container: { securityContext: own } }))).securityContext).toEqual(own);
  });

  test('takes what is null in its template for what it does not say, as Kubernetes does', () => {
    const none = {
      allowPrivilegeEscalation: null,
      runAsNonRoot: null,
      runAsUser: null,
      seccompProfile: null,
      capabilities: { drop: null },
    };
    const pod = { securityContext: { runAsNonRoot: null, seccompProfile: null } };
    expect(containerOf(renderUnder('restricted', jobSpec({ pod, container: { securityContext: none } }))).securityContext).toEqual(
      RESTRICTED,
    );
  });

  test('keeps what its template says of the Pod: a container would overrule it', () => {
    const pod = { securityContext: { runAsUser: 100, seccompProfile: { type: 'Localhost', localhostProfile: 'curl.json' } } };
    const job = renderUnder('restricted', jobSpec({ pod }));
    const { runAsUser: _, seccompProfile: __, ...rest } = RESTRICTED;
    expect(containerOf(job).securityContext).toEqual(rest);
    expect(job.spec.template.spec).toMatchObject(pod);
  });

  test('runs as the user of its image when the template says that this is not root', () => {
    const { runAsNonRoot: _, runAsUser: __, ...rest } = RESTRICTED;
    expect(containerOf(renderUnder('restricted', jobSpec({ pod: { securityContext: { runAsNonRoot: true } } }))).securityContext).toEqual(
      rest,
    );
    const container = { securityContext: { runAsNonRoot: true } };
    expect(containerOf(renderUnder('restricted', jobSpec({ container }))).securityContext).toEqual({ ...rest, runAsNonRoot: true });
  });

  test('has the capabilities that its template adds, and drops the others', () => {
    const container = { securityContext: { capabilities: { add: ['NET_BIND_SERVICE'] } } };
    expect(containerOf(renderUnder('restricted', jobSpec({ container }))).securityContext).toEqual({
      ...RESTRICTED,
      capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
    });
  });

  test('says nothing of it for Windows, where a Pod may not', () => {
    expect(containerOf(renderUnder('restricted', jobSpec({ pod: { os: { name: 'windows' } } }))).securityContext).toBeUndefined();
  });
});
