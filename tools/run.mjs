// node tools/run.mjs SCRIPT.ts [arguments]
//
// Runs SCRIPT (a path in this project) with the Node that the project pins. This file needs only a Node (`engines` of
// package.json) and its npm. If node_modules is missing or differs from package-lock.json, it installs the packages
// first. It is plain JavaScript without dependencies, because nothing may be installed yet.
import { spawn } from 'node:child_process'
import {
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const BIN = join(ROOT, 'node_modules', '.bin')
/** Node's binary is a package for each platform. So the lockfile has its digest, and no script downloads it. */
const NODE_PACKAGE = `node_modules/node-${process.platform}-${process.arch}`
const PINNED_NODE = join(ROOT, NODE_PACKAGE, 'bin', 'node')
const LOCK = join(ROOT, '.install-lock')
/**
 * Interval in ms at which a process touches its lock, and age in ms from which on a lock may be dead. An older lock is
 * dead if its process has ended.
 */
const LOCK_TOUCH_MS = 2_000
const LOCK_AGE_MS_MAX = 10_000
/** Age in ms from which on a lock is dead even if its pid exists. The pid may then belong to another process. */
const NPM_MS_MAX = 15 * 60_000

class Failure extends Error {}

try {
  await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof Failure)) throw error
  console.error(`tallystick: ${error.message}`)
  process.exit(1)
}

async function main([script, ...args]) {
  const lowest = lowestNode()
  if (isOlder(process.versions.node, lowest))
    fail(`Node ${process.version} is too old: use Node ${lowest} or newer`)
  if (!script) fail('usage: node tools/run.mjs SCRIPT.ts [arguments]')
  const path = resolve(ROOT, script)
  // A host that only runs the server may lack the development dependencies (npm ci --omit=dev).
  const withDev = /^(test|tools|bench)\b/.test(relative(ROOT, path))
  if (!isInstalled(withDev)) await install(withDev)
  requireNode()
  linkNode()
  await runUnderPinnedNode([path, ...args])
}

/**
 * Compares the installed packages with the lockfile.
 *
 * npm writes node_modules/.package-lock.json when an install is complete. If a package of package-lock.json is missing
 * there, it must be optional, such as another platform's binaries. All other packages must match. Additional packages
 * count as a difference, because a binary of an older lockfile would otherwise stay in use.
 */
function isInstalled(withDev) {
  const wanted = readPackages(join(ROOT, 'package-lock.json'))
  const found = readPackages(join(ROOT, 'node_modules', '.package-lock.json'))
  if (!wanted) fail(`${join(ROOT, 'package-lock.json')} is missing: download the whole project again`)
  if (!found || Object.keys(found).some((path) => !(path in wanted))) return false
  return Object.entries(wanted).every(
    ([path, { version, integrity, link, optional, devOptional, dev, peer }]) => {
      if (!path.startsWith('node_modules/') || link) return true
      const there = found[path]
      if (!there) return Boolean(optional || peer || ((dev || devOptional) && !withDev))
      return there.version === version && (!integrity || !there.integrity || there.integrity === integrity)
    },
  )
}

/** Returns the lowest supported Node. It is read from `engines` of package.json, which has the form >=20.12. */
function lowestNode() {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).engines.node.replace('>=', '')
}

function isOlder(version, lowest) {
  const [major, minor] = version.split('.').map(Number)
  const [lowestMajor, lowestMinor] = lowest.split('.').map(Number)
  return major < lowestMajor || (major === lowestMajor && minor < lowestMinor)
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return null
  }
}

async function install(withDev) {
  await withLock(async () => {
    if (isInstalled(withDev)) return
    console.error(
      'tallystick: installing the dependencies from package-lock.json (once; takes half a minute to two minutes)',
    )
    const flags = ['--no-audit', '--no-fund', '--loglevel=error', ...(withDev ? ['--include=dev'] : [])]
    const { code, output } = await npm(['ci', ...flags])
    if (code !== 0) fail(`\`npm ci\` failed: ${explain(output)}\n\n${output.trim()}`)
    if (!isInstalled(withDev))
      fail(
        `\`npm ci\` did not install what package-lock.json lists: run \`npm ci\` in ${ROOT}, and read its output`,
      )
  })
}

/**
 * Links the pinned Node, so that `npx` finds it. The binaries of all platforms have the same link name. When npm 10
 * removes the links of other platforms, it also removes this link.
 */
function linkNode() {
  const link = join(BIN, 'node')
  if (existsSync(link) || !existsSync(PINNED_NODE)) return
  try {
    symlinkSync(relative(BIN, PINNED_NODE), link)
  } catch {
    // Another start made the link first, or this folder is not writable. Our child process works without the link,
    // because the binary's folder is in its PATH.
  }
}

/**
 * Throws if there is no suitable Node. The lockfile has binaries for some platforms only, and `--omit=optional` leaves
 * out all of them.
 */
function requireNode() {
  if (existsSync(PINNED_NODE) || isGoodEnough(process.versions.node)) return
  const isNamed = readPackages(join(ROOT, 'package-lock.json'))?.[NODE_PACKAGE] !== undefined
  const remedy = isNamed
    ? `run \`npm ci --include=optional\` in ${ROOT}, or start`
    : `there is none for ${process.platform} ${process.arch}: start`
  fail(
    `the Node that this project pins is missing: ${remedy} ` +
      `with Node ${pinnedVersion()} or a later ${pinnedVersion().split('.')[0]} (this is ${process.version})`,
  )
}

/**
 * Returns true for a Node of the pinned major version that is not older than the pinned version. Such a Node is used if
 * the pinned binary cannot run, for example with musl.
 */
function isGoodEnough(version) {
  const pinned = pinnedVersion()
  return version.split('.')[0] === pinned.split('.')[0] && !isOlder(version, pinned)
}

/** Returns the pinned version of Node, which is the same for all platforms. */
function pinnedVersion() {
  const packages = Object.entries(readPackages(join(ROOT, 'package-lock.json')) ?? {})
  const [, pinned] = packages.find(([path]) => /^node_modules\/node-(linux|darwin)-/.test(path)) ?? []
  return pinned?.version ?? '24.21.0'
}

/** Runs npm. Resolves with its output, whatever its exit code is. */
function npm(args) {
  // Uses the npm that started this process, or otherwise the npm on the PATH.
  const self = process.env.npm_execpath
  const [command, before] = self && /npm-cli\.c?js$/.test(self) ? [process.execPath, [self]] : ['npm', []]
  return new Promise((done, reject) => {
    const child = spawn(command, [...before, ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
    let interrupted = false
    const stopForwarding = forwardSignals(child, () => {
      interrupted = true
    })
    // Writes npm's pid into the lock. If this process is killed, npm may continue, and another start must then wait
    // until npm has ended.
    if (child.pid) writeFileSync(LOCK, `${child.pid}\n`)
    child.on('error', (error) => done({ code: 1, output: `npm cannot be started: ${error.message}` }))
    child.on('close', (code) => {
      stopForwarding()
      if (interrupted) reject(new Failure('interrupted while installing'))
      done({ code: code ?? 1, output })
    })
  })
}

function explain(output) {
  if (/npm cannot be started/.test(output))
    return 'there is no npm on the PATH: install Node together with its npm'
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|network/.test(output)) {
    return (
      'the package registry cannot be reached. Connect this machine (or set `registry` or a proxy in .npmrc) and ' +
      'start again, or copy node_modules from a machine of the same kind'
    )
  }
  if (/EACCES|EROFS|EPERM/.test(output)) return notWritable()
  if (/ENOSPC/.test(output)) return 'the disk is full (about 400 MB are needed)'
  if (/in sync|EUSAGE/.test(output))
    return 'package.json and package-lock.json do not agree; run `npm install`'
  return 'npm says'
}

function notWritable() {
  return `this user may not write to ${ROOT}; run \`npm ci\` there once as its owner, and start again`
}

/**
 * Runs `work` while no other install runs in this folder. After a wait, `work` must check again whether the install
 * is needed.
 */
async function withLock(work) {
  let notice = () => console.error('tallystick: another start is installing the dependencies; waiting for it')
  while (!takeLock()) {
    notice()
    notice = () => {}
    dropDeadLock()
    await sleep(200)
  }
  const release = () => rmSync(LOCK, { force: true })
  const touching = setInterval(() => utimesSync(LOCK, new Date(), new Date()), LOCK_TOUCH_MS)
  process.once('exit', release)
  try {
    await work()
  } finally {
    clearInterval(touching)
    process.off('exit', release)
    release()
  }
}

function takeLock() {
  try {
    writeFileSync(LOCK, `${process.pid}\n`, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    if (['EACCES', 'EROFS', 'EPERM'].includes(error.code))
      fail(`the dependencies are not installed, and ${notWritable()}`)
    throw error
  }
}

/** Removes a lock whose process was killed. The lock is renamed first, so that only one waiting process removes it. */
function dropDeadLock() {
  const dead = `${LOCK}.${process.pid}`
  try {
    if (!isDead(LOCK)) return
    renameSync(LOCK, dead)
    // Another process removed the dead lock meanwhile and made a new lock, which was renamed here. So the new lock is
    // restored.
    if (!isDead(dead)) linkSync(dead, LOCK)
    rmSync(dead)
  } catch {
    // Another process has removed or taken the lock. The next round reads it again.
  }
}

function isDead(lock) {
  const age = Date.now() - statSync(lock).mtimeMs
  if (age < LOCK_AGE_MS_MAX) return false
  return age > NPM_MS_MAX || !isAlive(Number(readFileSync(lock, 'utf8')))
}

function isAlive(pid) {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function runUnderPinnedNode(args) {
  const path = [dirname(PINNED_NODE), BIN, process.env.PATH ?? ''].join(delimiter)
  const env = { ...process.env, PATH: path }
  return new Promise((done) => {
    const start = (node) => {
      const child = spawn(node, args, { stdio: 'inherit', env })
      const stopForwarding = forwardSignals(child)
      child.on('error', (error) => {
        stopForwarding()
        if (node !== process.execPath && isGoodEnough(process.versions.node)) return start(process.execPath)
        console.error(`tallystick: ${node} does not run here (${error.message}): ${advice(error)}`)
        process.exit(1)
      })
      child.on('exit', (code, signal) => {
        stopForwarding()
        if (signal) dieOf(signal)
        else process.exitCode = code ?? 1
        done()
      })
    }
    start(existsSync(PINNED_NODE) ? PINNED_NODE : process.execPath)
  })
}

function advice(error) {
  if (error.code === 'EACCES') return `let this user read and execute ${join(ROOT, 'node_modules')}`
  return (
    `remove ${join(ROOT, 'node_modules')} and start again if it came from another kind of machine, ` +
    `or start with Node ${pinnedVersion()} (this is ${process.version})`
  )
}

/**
 * Passes signals on to the script and waits. The script decides what a signal means and when it ends. For example,
 * SIGHUP means nothing under nohup.
 */
function forwardSignals(child, onSignal = () => {}) {
  const handlers = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'].map((signal) => {
    const handler = () => {
      onSignal()
      child.kill(signal)
    }
    process.on(signal, handler)
    return () => process.off(signal, handler)
  })
  return () => {
    for (const off of handlers) off()
  }
}

/** Ends this process by the signal that ended the script, so that a shell sees the same signal. */
function dieOf(signal) {
  process.exitCode = 128 + (constants.signals[signal] ?? 0)
  process.kill(process.pid, signal)
}

function fail(message) {
  throw new Failure(message)
}
