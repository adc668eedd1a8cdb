import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Manifest, ROOT, readManifest } from '../../../tools/bundle.ts'
import { bundleForBrowser, CLIENT_GZIP_BYTES_MAX, VERIFIER_GZIP_BYTES_MAX } from '../browser/bundle.ts'
import type { PackageServer } from './deployment.ts'
import { type Project, runProgram } from './project.ts'
import type { Runtime } from './runtimes.ts'

const PROGRAM = 'smoke'
/** The only packages that the SDK may depend on. */
const DEPENDENCIES = ['@noble/ed25519', '@noble/hashes']

export function checkDependencies({ packages }: Project): string {
  const expected = [...DEPENDENCIES, '@tallystick/sdk'].sort()
  if (packages.join() !== expected.join()) throw new Error(`installed ${packages}, not ${expected}`)
  return packages.join(', ')
}

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  target: 'es2022',
  lib: ['es2022', 'dom'],
  types: [],
}

/**
 * Ways in which TypeScript resolves modules: those of Node and that of bundlers. `nodenext` also compiles the program
 * that is run.
 */
const RESOLUTIONS = {
  nodenext: { module: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler', noEmit: true },
}

export async function checkTypes({ dir }: Project): Promise<string> {
  copyFileSync(join(import.meta.dirname, 'consumer', `${PROGRAM}.ts`), join(dir, `${PROGRAM}.ts`))
  for (const [name, options] of Object.entries(RESOLUTIONS)) {
    const config = { compilerOptions: { ...STRICT, ...options }, files: [`${PROGRAM}.ts`] }
    writeFileSync(join(dir, `tsconfig.${name}.json`), JSON.stringify(config))
    const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
    const { code, stdout } = await runProgram(tsc, ['-p', `tsconfig.${name}.json`], { cwd: dir })
    if (code !== 0) throw new Error(`${name}: ${stdout}`)
  }
  const { version } = readManifest<Manifest>(join(ROOT, 'node_modules', 'typescript'))
  return `TypeScript ${version}, ${Object.keys(RESOLUTIONS).join(' and ')}`
}

export async function useOn(runtime: Runtime, { dir }: Project, deployment: PackageServer): Promise<string> {
  const env = { ...(await deployment.newLedger()), SPOOL: join(dir, `spool ${runtime.name}`) }
  const args = [...runtime.args, `${PROGRAM}.js`]
  const { code, stdout, stderr } = await runProgram(runtime.file, args, { cwd: dir, env })
  if (code !== 0) throw new Error(stderr)
  return stdout.trim()
}

/**
 * Bundles of applications with their maximum sizes. The client grew from 26,700 to 27,600 bytes with the table of
 * record members, and to 28,050 with whole sentences in errors. `verify` grew from 63,500 to 65,200 bytes with the
 * tables of kinds, machines and keys, and to 66,830 with whole sentences in findings.
 */
const BUNDLES = {
  '{ Tallystick } of @tallystick/sdk': {
    source: `export { Tallystick } from '@tallystick/sdk'`,
    gzipBytesMax: CLIENT_GZIP_BYTES_MAX,
  },
  '@tallystick/sdk/verify': {
    source: `export * from '@tallystick/sdk/verify'`,
    gzipBytesMax: VERIFIER_GZIP_BYTES_MAX,
  },
  '@tallystick/sdk/webhooks': { source: `export * from '@tallystick/sdk/webhooks'`, gzipBytesMax: 13_400 },
}

/** Bundles for a browser, so that an import of Node fails. Throws if a bundle is too large. */
export async function checkBundleSizes({ dir }: Project): Promise<string> {
  const sizes: string[] = []
  for (const [name, { source, gzipBytesMax }] of Object.entries(BUNDLES)) {
    const { code, gzipBytes } = await bundleForBrowser({ contents: source, resolveDir: dir })
    if (gzipBytes > gzipBytesMax)
      throw new Error(`${name}: ${gzipBytes} bytes gzipped, more than ${gzipBytesMax}`)
    sizes.push(`${name} ${kib(code.length)} minified, ${kib(gzipBytes)} gzipped`)
  }
  return sizes.join('; ')
}

export function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`
}
