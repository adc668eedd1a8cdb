import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'

export type Cluster = {
  readonly kubeconfig: string
  /** POSTs an object to a collection of the API (`/api/v1/nodes`). */
  create(path: string, object: object): Promise<void>
  close(): Promise<void>
}

const BINARIES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const
const READY_MS_MAX = 120_000
const POLL_MS = 200

/**
 * A control plane of Kubernetes on the loopback, of binaries that `dir` holds, with nodes that only say that they run what they are given
 * (kwok; `dir/stages` holds its stage files): admission, scheduling, controllers and rollouts are real, containers are not run.
 */
export async function startCluster(dir: string, basePort = 21_380): Promise<Cluster> {
  const missing = [...BINARIES, 'stages'].filter((name) => !existsSync(join(dir, name)))
  if (missing.length > 0) throw new Error(`--cluster ${dir}: it has no ${missing.join(', ')}`)
  const home = mkdtempSync(join(tmpdir(), 'tallystick-cluster-'))
  const running: ChildProcess[] = []
  const close = async () => {
    // The last first: what is left without an API server only complains.
    for (const child of running.reverse()) await stop(child)
    rmSync(home, { recursive: true, force: true })
  }
  const start = (name: (typeof BINARIES)[number], args: readonly string[]) => {
    const log = openSync(join(home, `${name}.log`), 'w')
    running.push(spawn(join(dir, name), args, { cwd: home, stdio: ['ignore', log, log] }))
    closeSync(log)
  }
  try {
    const files = writeFiles(home, basePort)
    startControlPlane(start, home, files, basePort)
    const api = connect(`https://127.0.0.1:${basePort}`, files.token)
    await api.waitUntilReady()
    start('kwok', [`--kubeconfig=${files.kubeconfig}`, '--manage-all-nodes=true', ...stagesOf(dir)])
    return { kubeconfig: files.kubeconfig, create: api.create, close }
  } catch (error) {
    await close()
    throw error
  }
}

type Files = {
  readonly kubeconfig: string
  readonly tokens: string
  readonly key: string
  readonly token: string
}

function writeFiles(home: string, port: number): Files {
  const at = (name: string) => join(home, name)
  const token = randomBytes(24).toString('hex')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(at('service-accounts.pem'), privateKey.export({ type: 'pkcs1', format: 'pem' }), {
    mode: 0o600,
  })
  writeFileSync(at('tokens.csv'), `${token},admin,admin,system:masters\n`, { mode: 0o600 })
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } },
    ],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  writeFileSync(at('kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 })
  return { kubeconfig: at('kubeconfig'), tokens: at('tokens.csv'), key: at('service-accounts.pem'), token }
}

function startControlPlane(
  start: (name: (typeof BINARIES)[number], args: readonly string[]) => void,
  home: string,
  files: Files,
  port: number,
): void {
  const [client, peer] = [port + 1, port + 2].map((etcdPort) => `http://127.0.0.1:${etcdPort}`)
  start('etcd', [
    `--data-dir=${join(home, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
  ])
  start('kube-apiserver', [
    `--etcd-servers=${client}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${home}`,
    `--token-auth-file=${files.tokens}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${files.key}`,
    `--service-account-signing-key-file=${files.key}`,
    '--service-cluster-ip-range=10.96.0.0/16',
  ])
  const common = [`--kubeconfig=${files.kubeconfig}`, '--leader-elect=false', '--bind-address=127.0.0.1']
  start('kube-controller-manager', [
    ...common,
    `--secure-port=${port + 3}`,
    `--cert-dir=${join(home, 'controller-manager')}`,
    `--service-account-private-key-file=${files.key}`,
  ])
  start('kube-scheduler', [...common, `--secure-port=${port + 4}`, `--cert-dir=${join(home, 'scheduler')}`])
}

function stagesOf(dir: string): string[] {
  const files = readFileSync(join(dir, 'stages'), 'utf8').trim().split('\n')
  return files.map((file) => `--config=${file}`)
}

function connect(url: string, token: string) {
  // The API server makes a certificate for itself; it is ours, and on the loopback.
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    async waitUntilReady(): Promise<void> {
      const until = Date.now() + READY_MS_MAX
      while (Date.now() < until) {
        const answer = await request(`${url}/readyz`, { dispatcher, headers }).catch(() => null)
        await answer?.body.dump()
        if (answer?.statusCode === 200) return
        await sleep(POLL_MS)
      }
      throw new Error(`the API server was not ready after ${READY_MS_MAX / 1000} s`)
    },
    async create(path: string, object: object): Promise<void> {
      const body = JSON.stringify(object)
      const answer = await request(`${url}${path}`, { method: 'POST', dispatcher, headers, body })
      const text = await answer.body.text()
      if (answer.statusCode >= 300) throw new Error(`POST ${path}: ${answer.statusCode} ${text}`)
    },
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((done) => child.once('exit', done))
  child.kill('SIGKILL')
  await ended
}
