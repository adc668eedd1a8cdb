import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { type Copy, parseDockerfile, type Run, type Stage } from './dockerfile.ts'
import { makeContextFilter } from './dockerignore.ts'

/** An image as a folder, and what it is started with. */
export type Image = { readonly root: string; readonly stage: Stage }

/** Time of one RUN: npm ci with an empty cache takes a minute on two busy cores. */
const RUN_MS_MAX = 10 * 60_000

/**
 * Builds the Dockerfile of a project without an engine. The base is this machine, seen through an overlay (it must be a Debian, and
 * gets the Node that the Dockerfile names): what a RUN does is done in its own mount namespace, and what it writes ends in a folder.
 * `scratch` is an empty folder, so the last stage has nothing of the machine.
 */
export function buildImage(project: string, dir: string): Image {
  const stages = parseDockerfile(readFileSync(join(project, 'Dockerfile'), 'utf8'))
  const context = makeContext(project)
  const roots = new Map<string, string>()
  for (const stage of stages) {
    const root = join(dir, stage.name ?? 'image')
    mkdirSync(root)
    if (stage.base !== 'scratch') layBase(project, root, stage)
    for (const step of stage.steps) {
      if ('run' in step) run(root, step.run, stage.workdir)
      else if (step.copy.from === null) copyContext(step.copy, root, context)
      else copyStage(step.copy, root, roots.get(step.copy.from)!)
    }
    roots.set(stage.name ?? 'image', root)
  }
  return { root: roots.get('image')!, stage: stages.at(-1)! }
}

/** Files of the project that a builder may take. */
type Source = { readonly root: string; readonly isTaken: (path: string) => boolean }

export function makeContext(project: string): Source {
  return { root: project, isTaken: makeContextFilter(readFileSync(join(project, '.dockerignore'), 'utf8')) }
}

function copyContext({ sources, to }: Copy, root: string, { root: from, isTaken }: Source): void {
  for (const source of sources) {
    const path = join(from, source)
    const filter = (each: string) => isTaken(relative(from, each))
    if (!filter(path)) throw new Error(`COPY ${source}: .dockerignore leaves it out`)
    cpSync(path, targetOf(path, to, root), { recursive: true, filter })
  }
}

/** With owners and modes. */
function copyStage({ sources, to }: Copy, root: string, from: string): void {
  for (const source of sources) {
    const path = join(from, source)
    const { status, stderr } = spawnSync('cp', ['-a', '-T', path, targetOf(path, to, root)], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`COPY ${source}: ${stderr}`)
  }
}

/**
 * Target of a COPY: the contents of a folder go into a folder that is made; a file goes into a folder if that ends with a
 * slash.
 */
function targetOf(path: string, to: string, root: string): string {
  const target = join(root, to, to.endsWith('/') && !statSync(path).isDirectory() ? basename(path) : '')
  mkdirSync(dirname(target), { recursive: true })
  return target.replace(/(?<=.)\/$/, '')
}

/** The overlay's upper layer: the Node that the tag of the base names. */
function layBase(project: string, root: string, { base, workdir }: Stage): void {
  const version = /^node:(\d+\.\d+\.\d+)-/.exec(base)?.[1]
  const node = join(project, 'node_modules', '.bin', 'node')
  const found = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim()
  if (found !== `v${version}`) throw new Error(`the base is ${base}, and the Node of package.json ${found}`)
  for (const path of ['usr/local/bin', workdir]) mkdirSync(join(root, path), { recursive: true })
  if (existsSync(workdir))
    throw new Error(`${workdir} is there on this machine, and would be seen in the image`)
  copyFileSync(node, join(root, 'usr/local/bin/node'))
  chmodSync(join(root, 'usr/local/bin/node'), 0o755)
}

const IN_OVERLAY = `
  set -eu
  upper=$1 workdir=$2 user=$3; shift 3
  mkdir -p "$upper.work" "$upper.merged"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$upper,workdir=$upper.work" "$upper.merged"
  for special in proc dev; do mount --rbind /$special "$upper.merged/$special"; done
  cd "$upper.merged$workdir"
  exec chroot --userspec="$user" "$upper.merged" /bin/sh -c 'cd "$0" && exec "$@"' "$workdir" "$@"`

function run(root: string, { command, user, env }: Run, workdir: string): void {
  const cache = '/tmp/npm-cache'
  const { status, stdout, stderr, error } = spawnSync(
    'unshare',
    ['--mount', '--fork', 'sh', '-c', IN_OVERLAY, 'sh', root, workdir, user, ...command],
    {
      encoding: 'utf8',
      timeout: RUN_MS_MAX,
      env: { ...machineEnvironment(), ...env, npm_config_cache: cache },
    },
  )
  if (status !== 0) throw new Error(`RUN ${command.join(' ')}\n${error?.message ?? ''}${stdout}${stderr}`)
}

/** How this machine reaches its registry, and nothing else of anybody who runs it. */
function machineEnvironment(): Record<string, string> {
  const names = /^(HOME|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(https?|no)_proxy)$/i
  const kept = Object.entries(process.env).filter(([name]) => names.test(name)) as [string, string][]
  return { ...Object.fromEntries(kept), PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
}
