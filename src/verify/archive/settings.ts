import { fileURLToPath } from 'node:url'

export type ArchiveLocation =
  | { readonly kind: 'directory'; readonly directory: string }
  | ({ readonly kind: 's3'; readonly bucket: string; readonly prefix: string } & S3Settings)

export type S3Settings = {
  /** Address of the S3 service; null for Amazon's service. */
  readonly endpoint: string | null
  /** Region; null if the AWS SDK reads the region from its environment. */
  readonly region: string | null
  /** True if a bucket's address is `endpoint/bucket` instead of `bucket.endpoint`. */
  readonly pathStyle: boolean
  /** Number of days for which each object is locked, and the mode of the lock; null if the bucket's default applies. */
  readonly lock: { readonly days: number; readonly mode: 'GOVERNANCE' | 'COMPLIANCE' } | null
}

/** Parses `s3://bucket/prefix` or `file:///directory`. Throws an Error for any other text. */
export function parseArchiveLocation(text: string, s3: S3Settings): ArchiveLocation {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol === 'file:' && url.host === '')
    return { kind: 'directory', directory: fileURLToPath(url) }
  const isPlain = url !== null && `${url.username}${url.password}${url.port}${url.search}${url.hash}` === ''
  if (url?.protocol === 's3:' && url.host !== '' && isPlain)
    return { kind: 's3', bucket: url.host, prefix: url.pathname.replace(/^\/+|\/+$/g, ''), ...s3 }
  throw new Error('must be s3://bucket/prefix or file:///directory')
}
