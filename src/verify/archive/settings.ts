import { fileURLToPath } from 'node:url'

export type ArchiveLocation =
  | { readonly kind: 'directory'; readonly directory: string }
  | ({ readonly kind: 's3'; readonly bucket: string; readonly prefix: string } & S3Settings)

export type S3Settings = {
  /** null: Amazon's own. */
  readonly endpoint: string | null
  /** null: the AWS SDK reads it from its environment. */
  readonly region: string | null
  /** Address `endpoint/bucket` instead of `bucket.endpoint`. */
  readonly pathStyle: boolean
  /** Days for which each object is locked; null: no lock, or the bucket's default. */
  readonly lock: { readonly days: number; readonly mode: 'GOVERNANCE' | 'COMPLIANCE' } | null
}

/** Parses `s3://bucket/prefix` or `file:///directory`. Throws Error for any other text. */
export function parseArchiveLocation(text: string, s3: S3Settings): ArchiveLocation {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol === 'file:' && url.host === '')
    return { kind: 'directory', directory: fileURLToPath(url) }
  const isPlain = url !== null && `${url.username}${url.password}${url.port}${url.search}${url.hash}` === ''
  if (url?.protocol === 's3:' && url.host !== '' && isPlain)
    return { kind: 's3', bucket: url.host, prefix: url.pathname.replace(/^\/+|\/+$/g, ''), ...s3 }
  throw new Error('must be s3://bucket/prefix or file:///directory')
}
