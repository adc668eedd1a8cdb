import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from './render.ts'
import { findFaults } from './rules.ts'
import { compare, immutableParts } from './upgrade.ts'

const selector = {
  'app.kubernetes.io/name': 'tallystick',
  'app.kubernetes.io/instance': 'x',
  'app.kubernetes.io/component': 'api',
}
const labels = {
  ...selector,
  'app.kubernetes.io/part-of': 'tallystick',
  'app.kubernetes.io/managed-by': 'Helm',
  'app.kubernetes.io/version': '1',
  'helm.sh/chart': 'tallystick-1',
}

// biome-ignore lint/suspicious/noExplicitAny: each test breaks another part
function makeObjects(): any[] {
  const probe = (path: string) => ({ httpGet: { path } })
  const container = {
    name: 'api',
    env: [{ name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: {} }],
    resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '1Gi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
    startupProbe: probe('/livez'),
    readinessProbe: probe('/readyz'),
    livenessProbe: probe('/livez'),
  }
  const pod = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container],
    volumes: [{ name: 'tmp', emptyDir: {} }] as object[],
  }
  const spec = {
    strategy: { type: 'RollingUpdate' },
    selector: { matchLabels: selector },
    template: { metadata: { labels: { ...selector } }, spec: pod },
  }
  const scaleTargetRef = { kind: 'Deployment', name: 'x-api' }
  return [
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x-api', labels: { ...labels } }, spec },
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'x-api', labels },
      spec: { scaleTargetRef },
    },
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'x-api', labels }, spec: { selector } },
  ]
}

test('a correct chart has no fault', () => {
  assert.deepEqual(findFaults(makeObjects()), [])
})

// biome-ignore lint/suspicious/noExplicitAny: each breaks another part
const BREAKS: [fault: RegExp, breakIt: (deployment: any, pod: any, container: any, all: any[]) => unknown][] =
  [
    [/has no label helm\.sh\/chart/, ({ metadata }) => delete metadata.labels['helm.sh/chart']],
    [/its name is longer/, ({ metadata }) => (metadata.name = 'x'.repeat(64))],
    [/longer than a label may be/, ({ metadata }) => (metadata.labels.team = 'x'.repeat(64))],
    [/there are two/, (deployment, _pod, _container, all) => all.push(deployment)],
    [/runs as root perhaps/, (_, pod) => delete pod.securityContext.runAsNonRoot],
    [/has no seccomp profile/, (_, pod) => delete pod.securityContext.seccompProfile],
    [/is given a token/, (_, pod) => delete pod.automountServiceAccountToken],
    [/is told the Services/, (_, pod) => delete pod.enableServiceLinks],
    [/shares namespaces/, (_, pod) => (pod.hostNetwork = true)],
    [/mounts something of its node/, (_, pod) => pod.volumes.push({ name: 'h', hostPath: {} })],
    [
      /may gain privileges/,
      (_, _pod, container) => delete container.securityContext.allowPrivilegeEscalation,
    ],
    [
      /may write to its image/,
      (_, _pod, container) => delete container.securityContext.readOnlyRootFilesystem,
    ],
    [/has capabilities/, (_, _pod, container) => (container.securityContext.capabilities.add = ['NET_RAW'])],
    [/asks for no CPU/, (_, _pod, container) => delete container.resources.requests.cpu],
    [/has no limit of memory/, (_, _pod, container) => delete container.resources.limits],
    [/has no \/tmp/, (_, _pod, container) => (container.volumeMounts = [])],
    [/has no startup probe/, (_, _pod, container) => delete container.startupProbe],
    [/is not asked for \/readyz/, (_, _pod, container) => delete container.readinessProbe],
    [/killed for more/, (_, _pod, container) => (container.livenessProbe = { httpGet: { path: '/readyz' } })],
    [/stands twice in env/, (_, _pod, container) => container.env.push(container.env[0])],
    [/is not taken from a Secret/, (_, _pod, container) => (container.env[0].value = 'x')],
    [
      /holds a password/,
      (_, _pod, container) => container.env.push({ name: 'A', value: 'postgres://a:b@c' }),
    ],
    [/which is no volume/, (_, pod) => (pod.volumes = [])],
    [/is mounted twice/, (_, _pod, container) => container.volumeMounts.push(container.volumeMounts[0])],
    [
      /has a key in its environment/,
      (_, _pod, container) => container.env.push({ name: 'TALLYSTICK_MASTER_KEY', valueFrom: {} }),
    ],
    [/has the owner's login/, (_, _pod, container) => container.env.push({ name: 'DATABASE_URL' })],
    [
      /has the worker's password/,
      (_, pod) => pod.volumes.push({ name: 's', secret: { secretName: 'database-worker' } }),
    ],
    [/says itself how many it is/, ({ spec }) => (spec.replicas = 2)],
    [/of which there can be one/, ({ spec }) => (spec.strategy.type = 'Recreate')],
    [/which is not there/, (_, _pod, _container, all) => (all[1].spec.scaleTargetRef.name = 'y')],
    [/Service\/x-api: selects no pod/, (_, _pod, _container, all) => (all[2].spec.selector = { a: 'b' })],
    [/selects others' pods/, ({ spec }, _pod, _container, all) => all.push(...pods(spec.template))],
  ]

for (const [fault, breakIt] of BREAKS) {
  test(`finds the fault: ${fault.source}`, () => {
    const objects = makeObjects()
    const pod = objects[0].spec.template.spec
    breakIt(objects[0], pod, pod.containers[0], objects)
    assert.match(findFaults(objects).join('\n'), fault)
  })
}

function pods(template: object): KubernetesObject[] {
  return [{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'x', labels }, spec: { template } }]
}

test('finds an upgrade that changes a selector or removes an object', () => {
  const objects = makeObjects()
  const before = immutableParts(objects)
  assert.deepEqual(compare(before, before), [])
  objects[0].spec.template.spec.containers = []
  assert.deepEqual(compare(before, immutableParts(objects)), [])
  objects[0].spec.selector = { matchLabels: { a: 'b' } }
  assert.match(compare(before, immutableParts(objects)).join(), /^Deployment\/x-api can't be changed from/)
  assert.deepEqual(compare(before, immutableParts(objects.slice(0, 2))).slice(1), [
    'Service/x-api would be deleted',
  ])
})
