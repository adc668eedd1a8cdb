import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build, type StdinOptions } from 'esbuild'
import { ROOT } from '../../../tools/bundle.ts'

/** 58.4 KiB, of which federation is 5, bundles are 3.7, registered statements 2.7, receipts 1.9, and the rest agents' keys and witnesses. */
const VERIFIER_GZIP_BYTES_MAX = 65_900

export type Bundle = { readonly code: string; readonly gzipBytes: number; readonly brotliBytes: number }

/** A module and all that it imports, as an application for browsers has it. An import of Node would fail. */
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

/** Bundle of a page that verifies. Throws if it has grown too large, or still names Node. */
export async function bundleVerifier(): Promise<Bundle> {
  const bundle = await bundleForBrowser('sdk/verify/index.ts')
  if (/["'`]node:/.test(bundle.code)) throw new Error('the bundle for browsers names a module of Node')
  if (bundle.gzipBytes > VERIFIER_GZIP_BYTES_MAX)
    throw new Error(`the verifier is ${bundle.gzipBytes} bytes gzipped, more than ${VERIFIER_GZIP_BYTES_MAX}`)
  return bundle
}
