import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { DATABASE, ensureOwner, OWNER_LOGIN } from '../../../src/db/connect/owner.ts'
import { CLEAN_ENV, type RunAs, resolveRunAs } from '../../../src/run/postgres/run-as.ts'
import { installPythonTool } from '../../../tools/python-tool.ts'
import { type Ends, startTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'
import { exitOnSignals } from '../deployment/deployment.ts'
import { connecting, end, findPort } from '../deployment/processes.ts'
import { balancerConfig, type MemberPlace, patroniConfig, type Replication } from './configuration.ts'
import { ANSWER_MS_MAX, COMMIT_MS_MAX, FAILOVER_MS_MAX, HEALTHY_MS_MAX } from './limits.ts'
import { Member } from './member.ts'

/** Uses Debian's binaries, because the embedded Postgres has neither pg_basebackup nor pg_rewind. */
const POSTGRES_BIN = '/usr/lib/postgresql/15/bin'
const MEMBERS = ['n0', 'n1', 'n2'] as const

type ClusterMember = {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
}

/** Returns a message that names the missing program, or null if all programs are installed. */
export function whyNoCluster(): string | null {
  const needed = [join(POSTGRES_BIN, 'pg_rewind'), '/usr/bin/etcd', '/usr/sbin/haproxy', '/usr/bin/python3']
  const missing = needed.find((path) => !existsSync(path))
  return missing === undefined ? null : `there is no ${missing} (Debian: postgresql-15, etcd-server, haproxy)`
}

/**
 * Three servers of Postgres 15 under Patroni, one etcd, and HAProxy. HAProxy routes connections to Patroni's primary.
 * Members reach each other and etcd through proxies, so that a test can cut off a member. HAProxy reaches the members
 * without these proxies, as if it were in another network.
 */
export class Cluster {
  readonly members: readonly Member[]
  readonly ownerUrl: string
  readonly superuserUrl: string
  readonly #dir: string
  readonly #runAs: RunAs
  readonly #standbyRole: string
  readonly #helpers: ChildProcess[] = []

  private constructor(
    dir: string,
    runAs: RunAs,
    members: readonly Member[],
    replication: Replication,
    urls: { readonly ownerUrl: string; readonly superuserUrl: string },
  ) {
    this.#standbyRole = replication === 'quorum' ? 'quorum_standby' : 'replica'
    this.#dir = dir
    this.#runAs = runAs
    this.members = members
    this.ownerUrl = urls.ownerUrl
    this.superuserUrl = urls.superuserUrl
  }

  /** Starts a cluster. Resolves when a primary and two standbys are ready, and the owner and its database exist. */
  static async start(t: Ends, dir: string, replication: Replication): Promise<Cluster> {
    exitOnSignals()
    const runAs = resolveRunAs('/nonexistent', () => {})
    const patroni = resolve(
      installPythonTool(
        'patroni',
        join(import.meta.dirname, 'requirements.txt'),
        // The python3 on the path is not used, because it may be in a folder that only root can enter.
        runAs === null ? null : '/usr/bin/python3',
      ),
    )
    const passwords = { superuser: randomBytes(12).toString('hex'), owner: randomBytes(12).toString('hex') }
    const [etcd, etcdPeer, balancer] = [await findPort(), await findPort(), await findPort()]
    const members: Member[] = []
    const places: MemberPlace[] = []
    for (const name of MEMBERS) {
      const place = { name, dir: join(dir, name), postgres: await findPort(), rest: await findPort() }
      const through = async (port: number) => startTcpProxy(t, `http://127.0.0.1:${port}`)
      const proxies = [await through(etcd), await through(place.postgres), await through(place.rest)] as const
      makeFolder(place.dir, runAs)
      const file = join(place.dir, 'patroni.json')
      const [etcdPort, postgresPort, restPort] = proxies.map(portOf) as [number, number, number]
      const config = patroniConfig(
        place,
        { etcd: etcdPort, postgres: postgresPort, rest: restPort },
        { binDir: POSTGRES_BIN, password: passwords.superuser, replication },
      )
      writeFileSync(file, JSON.stringify(config, null, 2), { mode: 0o600 })
      give(file, runAs)
      places.push(place)
      members.push(
        new Member(place, proxies, { command: [patroni, file], runAs, password: passwords.superuser }),
      )
    }
    const url = (user: string, password: string, database: string) =>
      `postgres://${user}:${password}@127.0.0.1:${balancer}/${database}`
    const cluster = new Cluster(dir, runAs, members, replication, {
      ownerUrl: url(OWNER_LOGIN, passwords.owner, DATABASE),
      superuserUrl: url('postgres', passwords.superuser, 'postgres'),
    })
    const killAll = () => cluster.#killAll()
    process.once('exit', killAll)
    t.after(async () => {
      await cluster.#stop()
      process.off('exit', killAll)
    })
    await cluster.#startHelpers({ etcd, etcdPeer, balancer }, places)
    for (const member of members) member.start()
    await cluster.untilHealthy()
    await connecting(() => ensureOwner(cluster.superuserUrl, passwords.owner))
    return cluster
  }

  async #startHelpers(
    ports: { readonly etcd: number; readonly etcdPeer: number; readonly balancer: number },
    places: readonly MemberPlace[],
  ): Promise<void> {
    const etcdDir = join(this.#dir, 'etcd')
    makeFolder(etcdDir, this.#runAs)
    const client = `http://127.0.0.1:${ports.etcd}`
    const peer = `http://127.0.0.1:${ports.etcdPeer}`
    const etcd = [
      ['--name', 'e0', '--data-dir', etcdDir],
      ['--listen-client-urls', client, '--advertise-client-urls', client],
      ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `e0=${peer}`],
    ].flat()
    const config = join(this.#dir, 'haproxy.cfg')
    writeFileSync(config, balancerConfig(ports.balancer, places), { mode: 0o644 })
    this.#helpers.push(spawnLogged('/usr/bin/etcd', etcd, join(this.#dir, 'etcd.log'), this.#runAs))
    this.#helpers.push(
      spawnLogged('/usr/sbin/haproxy', ['-db', '-f', config], join(this.#dir, 'haproxy.log'), this.#runAs),
    )
  }

  async leader(): Promise<Member> {
    for (const giveUpAt = Date.now() + HEALTHY_MS_MAX; Date.now() < giveUpAt; await sleep(100)) {
      const found = (await this.#read()).find(({ role }) => role === 'leader')
      const leader = this.members.find(({ name }) => name === found?.name)
      if (leader) return leader
    }
    throw new Error(`no member leads: ${this.readLogs()}`)
  }

  /** Waits for a commit through HAProxy on a timeline later than `after`. Returns the timeline. */
  async untilServing(after: number): Promise<number> {
    const committer = new Committer(this.superuserUrl)
    try {
      for (const giveUpAt = Date.now() + FAILOVER_MS_MAX; Date.now() < giveUpAt; await sleep(50)) {
        const timeline = await committer.commit().catch(() => 0)
        if (timeline > after) return timeline
      }
    } finally {
      await committer.end()
    }
    throw new Error(`no primary of a timeline after ${after} commits\n${this.readLogs()}`)
  }

  async timeline(): Promise<number> {
    return this.untilServing(0)
  }

  /** Resolves when one member leads, two members follow on its timeline, and both of them may be promoted. */
  async untilHealthy(): Promise<void> {
    let seen: readonly ClusterMember[] = []
    for (const giveUpAt = Date.now() + HEALTHY_MS_MAX; Date.now() < giveUpAt; await sleep(200)) {
      seen = await this.#read()
      const leader = seen.find(({ role }) => role === 'leader')
      const following = seen.filter(
        ({ role, state, timeline }) =>
          role === this.#standbyRole && state === 'streaming' && timeline === leader?.timeline,
      )
      if (leader?.state === 'running' && following.length === MEMBERS.length - 1) return
    }
    throw new Error(`the cluster is not healthy: ${JSON.stringify(seen)}\n${this.readLogs()}`)
  }

  /** Starts a switchover through Patroni's REST API, as an operator does. Resolves when Patroni has accepted it. */
  async switchOver(): Promise<void> {
    const leader = await this.leader()
    const response = await fetch(`${leader.restUrl}/switchover`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ leader: leader.name }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`the switchover was refused with ${response.status}: ${text}`)
  }

  /** Returns the newest view of the cluster. A member that is stopped or cut off gives an old view or none. */
  async #read(): Promise<readonly ClusterMember[]> {
    const views = await Promise.all(
      this.members
        .map(async ({ restUrl, isCutOff }) => {
          if (isCutOff) return []
          const response = await fetch(`${restUrl}/cluster`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
          return ((await response.json()) as { members: ClusterMember[] }).members
        })
        .map((view) => view.catch(() => [])),
    )
    const newest = (view: readonly ClusterMember[]) =>
      Math.max(0, ...view.map(({ timeline }) => timeline ?? 0))
    return views.reduce((best, view) => (newest(view) >= newest(best) && view.length > 0 ? view : best), [])
  }

  readLogs(): string {
    const files = [...this.members.map(({ name }) => join(name, 'patroni.log')), 'etcd.log', 'haproxy.log']
    return files
      .map((file) => join(this.#dir, file))
      .filter((file) => existsSync(file))
      .map((file) => `${file}: ${readFileSync(file, 'utf8').slice(-1_500)}`)
      .join('\n')
  }

  #killAll(): void {
    for (const member of this.members) member.killNow()
    for (const helper of this.#helpers) helper.kill('SIGKILL')
  }

  async #stop(): Promise<void> {
    this.#killAll()
    await Promise.all(this.members.map((member) => member.kill()))
    await Promise.all(this.#helpers.map((helper) => end(helper, 'SIGKILL')))
  }
}

/** A client that commits through HAProxy and reuses its connection while it is open. */
export class Committer {
  readonly #url: string
  #client: pg.Client | null = null

  constructor(url: string) {
    this.#url = url
  }

  /**
   * Commits through HAProxy. Returns the timeline of the primary that committed. The transaction writes, because a
   * transaction without a write does not wait for standbys. Rejects if the commit takes longer than COMMIT_MS_MAX.
   */
  async commit(): Promise<number> {
    try {
      this.#client ??= await this.#connect()
      const { rows } = await this.#client.query(
        `select ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int as timeline,
           pg_logical_emit_message(true, 'soak', '')`,
      )
      return rows[0].timeline
    } catch (error) {
      await this.end()
      throw error
    }
  }

  async end(): Promise<void> {
    const client = this.#client
    this.#client = null
    client?.end().catch(() => {})
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: ANSWER_MS_MAX,
      query_timeout: COMMIT_MS_MAX,
    })
    client.on('error', () => {})
    await client.connect()
    return client
  }
}

export function spawnLogged(
  command: string,
  args: readonly string[],
  logFile: string,
  runAs: RunAs,
): ChildProcess {
  const log = openSync(logFile, 'a')
  const child = spawn(command, args, {
    cwd: '/',
    env: CLEAN_ENV,
    stdio: ['ignore', log, log],
    ...(runAs && { uid: runAs.uid, gid: runAs.gid }),
  })
  closeSync(log)
  return child
}

function portOf({ url }: TcpProxy): number {
  return Number(new URL(url).port)
}

function makeFolder(dir: string, runAs: RunAs): void {
  mkdirSync(dir, { mode: 0o700 })
  give(dir, runAs)
}

function give(path: string, runAs: RunAs): void {
  if (runAs !== null) chownSync(path, runAs.uid, runAs.gid)
}
