import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build, type StdinOptions } from 'esbuild'
import { ROOT } from '../../../tools/bundle.ts'

/**
 * Maximum size. The verifier has 58.4 KiB. Of these, federation takes 5, bundles 3.7, registered statements 2.7, and
 * receipts 1.9. Agents' keys and witnesses are part of the rest.
 */
const VERIFIER_GZIP_BYTES_MAX = 65_900

export type Bundle = { readonly code: string; readonly gzipBytes: number; readonly brotliBytes: number }

/** Bundles a module with its imports as a browser application does. An import of Node fails. */
export async function bundleForBrowser(source: string | StdinOptions): Promise<Bundle> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    ...(typeof source === 'string' ? { entryPoints: [source] } : { stdin: source }),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'silent',
  })
  const code = outputFiles[0]!.text
  return { code, gzipBytes: gzipSync(code).length, brotliBytes: brotliCompressSync(code).length }
}

/** Bundles the verifier. Throws if the bundle is too large or imports Node. */
export async function bundleVerifier(): Promise<Bundle> {
  const bundle = await bundleForBrowser('sdk/verify/index.ts')
  if (/["'`]node:/.test(bundle.code)) throw new Error('the bundle for browsers names a module of Node')
  if (bundle.gzipBytes > VERIFIER_GZIP_BYTES_MAX)
    throw new Error(`the verifier is ${bundle.gzipBytes} bytes gzipped, more than ${VERIFIER_GZIP_BYTES_MAX}`)
  return bundle
}
