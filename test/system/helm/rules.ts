import type { KubernetesObject } from './render.ts'

export type Container = {
  readonly name: string
  readonly image: string
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[]
  readonly resources?: {
    readonly requests?: Record<string, string>
    readonly limits?: Record<string, string>
  }
  readonly securityContext?: Record<string, unknown>
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
}
type Probe = { readonly httpGet: { readonly path: string } }
type Pod = {
  readonly object: KubernetesObject
  readonly component: string
  readonly labels: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: a pod's spec
  readonly spec: any
}

/** Checks rules for every object of the chart, with any values. Returns one line per fault. */
export function findFaults(objects: readonly KubernetesObject[]): string[] {
  const pods = objects.flatMap(podsOf)
  return [
    ...objects.flatMap(labelFaults),
    ...duplicates(objects.map((object) => `${object.kind}/${object.metadata.name}`)).map(
      (name) => `${name}: there are two`,
    ),
    ...pods.flatMap((pod) => [...podFaults(pod), ...pod.spec.containers.flatMap(containerFaults(pod))]),
    ...pods.flatMap(privilegeFaults),
    ...objects.flatMap((object) => scalingFaults(object, objects)),
    ...objects.flatMap((object) => selectorFaults(object, pods)),
  ]
}

export function podsOf(object: KubernetesObject): Pod[] {
  const template =
    object.kind === 'Pod' ? object : (object['spec']?.jobTemplate?.spec.template ?? object['spec']?.template)
  if (!template?.spec?.containers) return []
  const labels = template.metadata?.labels ?? {}
  return [{ object, labels, component: labels['app.kubernetes.io/component'], spec: template.spec }]
}

const OWN_LABELS = ['name', 'instance', 'component', 'part-of', 'managed-by', 'version'].map(
  (label) => `app.kubernetes.io/${label}`,
)

function labelFaults(object: KubernetesObject): string[] {
  const { labels = {}, name } = object.metadata
  // These objects come from extraObjects, so the rules do not apply.
  if (name.includes('as-a-') || object.apiVersion.startsWith('gateway.envoyproxy.io/')) return []
  // The pod of `helm test` is not made from the template of another object, so it has only the labels of a pod.
  const wanted = object.kind === 'Pod' ? OWN_LABELS.slice(0, 3) : [...OWN_LABELS, 'helm.sh/chart']
  const long = Object.values(labels).filter((value) => value.length > 63)
  return [
    ...wanted.filter((label) => !(label in labels)).map((label) => `${at(object)}: has no label ${label}`),
    ...long.map((value) => `${at(object)}: ${value} is longer than a label may be`),
    ...(name.length > 63 ? [`${at(object)}: its name is longer than a label may be`] : []),
  ]
}

/** Checks the restricted level of the Pod Security Standards, and our own rules. */
function podFaults({ object, spec }: Pod): string[] {
  const security = spec.securityContext ?? {}
  return faultsWhere(object, [
    [security.runAsNonRoot !== true, 'runs as root perhaps'],
    [security.seccompProfile?.type !== 'RuntimeDefault', 'has no seccomp profile'],
    [spec.automountServiceAccountToken !== false, 'is given a token of the API server'],
    [spec.enableServiceLinks !== false, 'is told the Services of its namespace'],
    [spec.hostNetwork || spec.hostPID || spec.hostIPC, 'shares namespaces with its node'],
    [(spec.volumes ?? []).some((volume: object) => 'hostPath' in volume), 'mounts something of its node'],
  ])
}

function containerFaults({ object, component, spec }: Pod) {
  return (container: Container): string[] => {
    const { env = [], resources = {}, securityContext = {}, volumeMounts = [] } = container
    const capabilities = securityContext['capabilities'] as { drop?: string[]; add?: string[] } | undefined
    const serves = component === 'api' || component === 'worker'
    const volumes = new Set((spec.volumes ?? []).map(({ name }: { name: string }) => name))
    return [
      ...faultsWhere(object, [
        [securityContext['allowPrivilegeEscalation'] !== false, 'may gain privileges'],
        [securityContext['readOnlyRootFilesystem'] !== true, 'may write to its image'],
        [capabilities?.drop?.join() !== 'ALL' || capabilities.add !== undefined, 'has capabilities'],
        [!resources.requests?.['cpu'] || !resources.requests['memory'], 'asks for no CPU or memory'],
        [!resources.limits?.['memory'], 'has no limit of memory'],
        [!volumeMounts.some(({ mountPath }) => mountPath === '/tmp'), 'has no /tmp'],
        [serves && container.startupProbe === undefined, 'has no startup probe'],
        [serves && container.readinessProbe?.httpGet.path !== '/readyz', 'is not asked for /readyz'],
        [serves && container.livenessProbe?.httpGet.path !== '/livez', 'is killed for more than not living'],
      ]),
      ...duplicates(env.map(({ name }) => name)).map((name) => `${at(object)}: ${name} stands twice in env`),
      ...env
        .filter(({ name, value }) => isSecret(name) && value !== undefined)
        .map(({ name }) => `${at(object)}: ${name} is not taken from a Secret`),
      ...env
        .filter(({ value }) => /:\/\/[^/@]*:[^/@]*@/.test(value ?? ''))
        .map(({ name }) => `${at(object)}: ${name} holds a password`),
      ...volumeMounts
        .filter(({ name }) => !volumes.has(name))
        .map(({ name }) => `${at(object)}: mounts ${name}, which is no volume`),
      ...duplicates(volumeMounts.map(({ mountPath }) => mountPath)).map(
        (path) => `${at(object)}: ${path} is mounted twice`,
      ),
    ]
  }
}

const isSecret = (name: string) => /(_KEY|_SECRET|_PASSWORD|_HEADERS|_KEY_PREVIOUS)$/.test(name)

/** Checks which pods get the owner's login and the operator's key. */
function privilegeFaults({ object, component, spec }: Pod): string[] {
  const names: string[] = spec.containers.flatMap(({ env = [] }: Container) => env.map(({ name }) => name))
  const secrets: string[] = (spec.volumes ?? []).flatMap(
    (volume: { secret?: { secretName: string } }) => volume.secret?.secretName ?? [],
  )
  const owns = component === 'migrate' || component === 'operate'
  return faultsWhere(object, [
    [
      !owns && (names.includes('DATABASE_URL') || secrets.some((name) => name.endsWith('-owner'))),
      "has the owner's login",
    ],
    [owns && !names.includes('DATABASE_URL'), "has not the owner's login"],
    [
      component !== 'api' && component !== 'test' && names.includes('TALLYSTICK_OPERATOR_KEY_FILE'),
      "has the operator's key",
    ],
    [names.some((name) => /^TALLYSTICK_.*_KEY(_PREVIOUS)?$/.test(name)), 'has a key in its environment'],
    [component === 'api' && secrets.some((name) => name.endsWith('-worker')), "has the worker's password"],
    [component === 'worker' && secrets.some((name) => name.endsWith('-api')), "has the server's password"],
    [component === 'test' && names.includes('TALLYSTICK_MASTER_KEY_FILE'), 'has the master key'],
  ])
}

/** Checks that the chart does not set a value that an autoscaler sets, because each upgrade would reset the value. */
function scalingFaults(object: KubernetesObject, objects: readonly KubernetesObject[]): string[] {
  const target = object['spec']?.scaleTargetRef
  if (target === undefined) return []
  const scaled = objects.find(({ kind, metadata }) => kind === target.kind && metadata.name === target.name)
  return faultsWhere(object, [
    [scaled === undefined, `scales ${target.name}, which is not there`],
    [scaled?.['spec'].replicas !== undefined, `scales ${target.name}, which says itself how many it is`],
    [scaled?.['spec'].strategy.type === 'Recreate', `scales ${target.name}, of which there can be one`],
  ])
}

/**
 * Checks that each selector matches pods of the release, and that a Deployment's selector matches the Deployment's
 * own pods.
 */
function selectorFaults(object: KubernetesObject, pods: readonly Pod[]): string[] {
  const spec = object['spec'] ?? {}
  const selector =
    object.kind === 'Service'
      ? spec.selector
      : object.kind === 'NetworkPolicy'
        ? spec.podSelector.matchLabels
        : ['Deployment', 'PodDisruptionBudget'].includes(object.kind)
          ? spec.selector.matchLabels
          : undefined
  if (selector === undefined) return []
  const found = pods.filter(({ labels }) =>
    Object.entries(selector).every(([label, value]) => labels[label] === value),
  )
  return faultsWhere(object, [
    [found.length === 0, 'selects no pod'],
    [
      object.kind === 'Deployment' && (found.length !== 1 || found[0]?.object !== object),
      "selects others' pods",
    ],
  ])
}

function at({ kind, metadata }: KubernetesObject): string {
  return `${kind}/${metadata.name}`
}

function faultsWhere(object: KubernetesObject, faults: readonly (readonly [unknown, string])[]): string[] {
  return faults.filter(([isSo]) => isSo).map(([, fault]) => `${at(object)}: ${fault}`)
}

function duplicates(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))]
}
