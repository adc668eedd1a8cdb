import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build, type StdinOptions } from 'esbuild'
import { ROOT } from '../../../tools/bundle.ts'

/**
 * Maximum size of the verifier in bytes. The verifier has 65.3 KiB: 5 KiB for federation, 3.7 KiB for bundles, 2.7 KiB
 * for registered statements, 1.9 KiB for receipts, and the rest, which includes agents' keys and witnesses.
 */
export const VERIFIER_GZIP_BYTES_MAX = 67_500
/** Maximum size of the SDK's client in bytes. */
export const CLIENT_GZIP_BYTES_MAX = 28_500

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
