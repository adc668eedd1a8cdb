import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parse } from 'yaml'
import { type Cluster, startCluster } from './cluster.ts'
import { CHART_DIR, execute } from './command.ts'
import { type Helm, listCases } from './render.ts'

const WAIT = ['--wait', '--timeout', '90s']
const ZONES = ['a', 'b']

/** Starts a cluster that has what the cases count on: nodes in two zones, volumes, a priority class, and the kinds of others. */
export async function startPreparedCluster(dir: string, crdFiles: readonly string[]): Promise<Cluster> {
  const cluster = await startCluster(dir)
  for (const [i, zone] of ZONES.entries()) await cluster.create('/api/v1/nodes', makeNode(i, zone))
  for (const file of crdFiles) {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    await cluster.create(path, parse(readFileSync(file, 'utf8')) as object)
  }
  await cluster.create('/apis/scheduling.k8s.io/v1/priorityclasses', {
    metadata: { name: 'ledger' },
    value: 1000,
  })
  for (const name of ['standard', 'gp3', 'efs']) {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': String(name === 'standard') }
    await cluster.create('/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name, annotations },
      provisioner: 'kubernetes.io/no-provisioner',
      reclaimPolicy: 'Delete',
    })
  }
  return cluster
}

/** Installs, upgrades and uninstalls each case in a namespace of its own that takes restricted pods only. */
export async function installAll(cluster: Cluster, helm: Helm): Promise<string[]> {
  const faults: string[] = []
  for (const file of listCases()) {
    const name = basename(file, '-values.yaml')
    const namespace = `${helm.name.toLowerCase().replace(' ', '')}-${name}`
    await prepareNamespace(cluster, namespace)
    // Nobody gives a Service of type LoadBalancer an address here.
    const wait = readFileSync(file, 'utf8').includes('type: LoadBalancer') ? [] : WAIT
    const release = ['tallystick', CHART_DIR, '--values', file, ...wait]
    for (const args of [
      ['install', ...release],
      ['upgrade', ...release, '--set', 'logLevel=debug'],
      ['upgrade', ...release, '--set', 'logLevel=debug'],
      ['uninstall', 'tallystick'],
    ]) {
      const at = ['--kubeconfig', cluster.kubeconfig, '--namespace', namespace]
      const { code, stdout, stderr } = await execute(helm.path, [...args, ...at])
      // PodSecurity and the scheduler warn of what they leave out.
      const warned = /would violate PodSecurity|unknown field|duplicate/.test(stderr)
      if (code === 0 && !warned) continue
      faults.push(`${name}, helm ${args[0]}: ${`${stdout}${stderr}`.trim()}`)
      break
    }
  }
  return faults
}

async function prepareNamespace(cluster: Cluster, namespace: string): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await cluster.create('/api/v1/namespaces', { metadata: { name: namespace, labels } })
  // Two of EFS: the case's own claim may be there beside the one that is there already.
  for (const [i, storageClassName] of ['standard', 'gp3', 'efs', 'efs'].entries()) {
    await cluster.create('/api/v1/persistentvolumes', {
      metadata: { name: `${namespace}-${i}` },
      spec: {
        storageClassName,
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
        hostPath: { path: '/nowhere' },
      },
    })
  }
  await cluster.create(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`, {
    metadata: { name: 'tallystick-checkpoints' },
    spec: {
      storageClassName: 'efs',
      accessModes: ['ReadWriteMany'],
      resources: { requests: { storage: '1Gi' } },
    },
  })
}

function makeNode(i: number, zone: string): object {
  const resources = { cpu: '64', memory: '256Gi', pods: '500' }
  return {
    metadata: {
      name: `node-${i}`,
      labels: {
        'topology.kubernetes.io/zone': zone,
        'kubernetes.io/hostname': `node-${i}`,
        'kubernetes.io/arch': 'arm64',
        'node.example/class': 'general',
        'node.example/zone': zone,
      },
    },
    status: { allocatable: resources, capacity: resources },
  }
}
