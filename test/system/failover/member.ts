import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunAs } from '../../../src/run/postgres/run-as.ts'
import type { TcpProxy } from '../../helpers/tcp-proxy.ts'
import { childrenOf, end, killIfAlive } from '../deployment/processes.ts'
import { spawnLogged } from './cluster.ts'
import type { MemberPlace } from './configuration.ts'

type MemberOptions = {
  readonly command: readonly [string, string]
  readonly runAs: RunAs
  readonly password: string
}

export class Member {
  readonly name: string
  readonly restUrl: string
  /** URL of the superuser's login, which bypasses HAProxy and the proxies. */
  readonly url: string
  /** True while the member is stopped or cut off. Then its view of the cluster may be old. */
  isCutOff = false
  readonly #place: MemberPlace
  readonly #proxies: readonly TcpProxy[]
  readonly #options: MemberOptions
  #patroni: ChildProcess | null = null

  constructor(place: MemberPlace, proxies: readonly TcpProxy[], options: MemberOptions) {
    this.name = place.name
    this.restUrl = `http://127.0.0.1:${place.rest}`
    this.url = `postgres://postgres:${options.password}@127.0.0.1:${place.postgres}/postgres`
    this.#place = place
    this.#proxies = proxies
    this.#options = options
  }

  start(): void {
    const [patroni, config] = this.#options.command
    this.#patroni = spawnLogged(patroni, [config], join(this.#place.dir, 'patroni.log'), this.#options.runAs)
  }

  /** Sends SIGKILL to every process of this member's Postgres. Patroni survives. */
  killPostgres(): void {
    for (const pid of this.#postgresPids()) killIfAlive(pid, 'SIGKILL')
  }

  /**
   * Simulates the loss of the member's machine. Resolves when Patroni has ended, because Patroni would restart
   * Postgres.
   */
  async kill(): Promise<void> {
    this.killNow()
    if (this.#patroni) await end(this.#patroni, 'SIGKILL')
    this.killPostgres()
  }

  killNow(): void {
    this.#patroni?.kill('SIGKILL')
    this.killPostgres()
  }

  /** Simulates a paused machine. The member's processes do not notice the pause. */
  freeze(): void {
    this.isCutOff = true
    for (const pid of [this.#patroni!.pid!, ...this.#postgresPids()]) killIfAlive(pid, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of [...this.#postgresPids(), this.#patroni!.pid!]) killIfAlive(pid, 'SIGCONT')
    this.isCutOff = false
  }

  /** Cuts the member off from etcd and the other members, without closing connections. Clients still reach it. */
  partition(): void {
    this.isCutOff = true
    for (const proxy of this.#proxies) proxy.isolate()
  }

  rejoin(): void {
    for (const proxy of this.#proxies) proxy.accept()
    this.isCutOff = false
  }

  /** Stops the processes that send to standbys, until the member is thawed or killed. */
  holdReplication(): void {
    for (const pid of this.#postgresPids()) {
      if (commandOf(pid).includes('walsender')) killIfAlive(pid, 'SIGSTOP')
    }
  }

  #postgresPids(): number[] {
    const file = join(this.#place.dir, 'data', 'postmaster.pid')
    if (!existsSync(file)) return []
    const postmaster = Number(readFileSync(file, 'utf8').split('\n')[0])
    // The pid file of a killed server may name another process by now, so the process's command is checked.
    return commandOf(postmaster).includes('postgres') ? [postmaster, ...childrenOf(postmaster)] : []
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
