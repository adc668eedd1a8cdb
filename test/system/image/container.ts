import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Image } from './build.ts'

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type Container = {
  readonly ended: Promise<Ended>
  readonly isRunning: () => boolean
  /** Pid of the container's PID 1 on the machine, once it is the image's own process. */
  pid(): Promise<number>
  /** To PID 1, as a runtime does. */
  stop(signal: NodeJS.Signals): Promise<Ended>
}

export type ContainerOptions = {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Folders that are mounted elsewhere, by where; they can't be written to, but for /data. */
  readonly mounts?: Readonly<Record<string, string>>
}

const DEVICES = ['null', 'zero', 'random', 'urandom']

/** Mounts of a runtime: /data and /tmp can be written to, and nothing else. Pairs of folder and place end with `--`. */
const IN_CONTAINER = `
  set -eu
  root=$1; shift
  mount --bind "$root" "$root"
  while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; [ "$2" = /data ] || mount -o remount,bind,ro "$root$2"; shift 2; done
  shift
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  mount -t proc proc "$root/proc"
  for device in ${DEVICES.join(' ')}; do mount --bind "/dev/$device" "$root/dev/$device"; done
  mount -o remount,bind,ro "$root"
  exec "$@"`

/**
 * Starts the image's entry point as PID 1 of a PID namespace of its own, as the image's user. The network is the machine's: what it
 * needs of it is on loopback.
 */
export function startContainer(
  { root, stage }: Image,
  args: readonly string[],
  options: ContainerOptions = {},
): Container {
  const mounts = Object.entries(options.mounts ?? {})
  const places = ['/data', '/tmp', '/proc', '/dev', ...mounts.map(([place]) => place)]
  for (const place of places) mkdirSync(join(root, place), { recursive: true })
  for (const device of DEVICES) appendFileSync(join(root, 'dev', device), '')
  const environment = Object.entries({ ...stage.env, ...options.env })
  const script = [
    ...['sh', '-c', IN_CONTAINER, 'sh', root, ...mounts.flatMap(([place, folder]) => [folder, place]), '--'],
    ...['/usr/bin/env', '-i', ...environment.map(([name, value]) => `${name}=${value}`)],
    ...['/usr/sbin/chroot', `--userspec=${stage.user}`, '--groups=', root, ...stage.entrypoint, ...args],
  ]
  const child = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', ...script], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}) // a command that reads nothing
  child.stdin.end(options.input ?? '')
  const ended = collect(child)
  return {
    ended,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    pid: () => firstProcess(child),
    async stop(signal) {
      globalThis.process.kill(await firstProcess(child), signal)
      return ended
    },
  }
}

/** A command, to its end. */
export function runInContainer(
  image: Image,
  args: readonly string[],
  options: ContainerOptions = {},
): Promise<Ended> {
  return startContainer(image, args, options).ended
}

async function collect(child: ChildProcess): Promise<Ended> {
  const [stdout, stderr] = [gather(child.stdout!), gather(child.stderr!)]
  const [code] = await once(child, 'close')
  return { code, stdout: stdout(), stderr: stderr() }
}

function gather(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (piece) => {
    text += piece
  })
  return () => text
}

async function firstProcess({ pid }: ChildProcess): Promise<number> {
  for (;;) {
    const first = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])
    if (first > 0 && readlinkSync(`/proc/${first}/exe`).endsWith('/node')) return first
    await sleep(5)
  }
}
