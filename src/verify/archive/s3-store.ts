import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3'
import { ARCHIVE_ATTEMPTS_MAX, ARCHIVE_REQUEST_MS_MAX, ARCHIVE_SOCKETS_MAX } from './limits.ts'
import { BodyTooLong, readBody } from './read-body.ts'
import type { ArchiveLocation, S3Settings } from './settings.ts'
import { type ArchiveStore, ArchiveStoreError } from './store.ts'

type S3Location = Extract<ArchiveLocation, { kind: 's3' }>

export type ArchiveStores = {
  of(ledger: string): ArchiveStore
  close(): void
}

/**
 * Opens the stores of an archive in a bucket.
 *
 * Each object is written with its SHA-256, which the bucket checks, and only if its name is free (`If-None-Match:
 * *`). The AWS SDK repeats failed requests, up to ARCHIVE_ATTEMPTS_MAX attempts.
 */
export async function openS3Stores(location: S3Location): Promise<ArchiveStores> {
  // The module is loaded only if an archive is in a bucket, because the import takes half a second.
  const sdk = await import('@aws-sdk/client-s3')
  const client = new sdk.S3Client({
    ...(location.endpoint !== null && { endpoint: location.endpoint }),
    ...(location.region !== null && { region: location.region }),
    forcePathStyle: location.pathStyle,
    maxAttempts: ARCHIVE_ATTEMPTS_MAX,
    requestHandler: {
      requestTimeout: ARCHIVE_REQUEST_MS_MAX,
      connectionTimeout: ARCHIVE_REQUEST_MS_MAX,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: ARCHIVE_SOCKETS_MAX },
      httpsAgent: { maxSockets: ARCHIVE_SOCKETS_MAX },
    },
    // The SDK's checksums are not needed. Requests that write have our own checksum, and the body of every answer is
    // compared with its digest.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  return {
    of: (ledger) =>
      s3Store(sdk, client, { ...location, prefix: [location.prefix, ledger].filter(Boolean).join('/') }),
    close: () => client.destroy(),
  }
}

/** Returns a store of the objects whose names begin with `prefix`. */
function s3Store(
  sdk: typeof import('@aws-sdk/client-s3'),
  client: S3Client,
  { bucket, prefix, lock }: S3Location,
): ArchiveStore {
  const target = (name: string) => ({ Bucket: bucket, Key: prefix === '' ? name : `${prefix}/${name}` })
  const put = (name: string, bytes: Uint8Array, more: Partial<PutObjectCommandInput>) =>
    bounded((abortSignal) =>
      client.send(
        new sdk.PutObjectCommand({
          ...target(name),
          Body: bytes,
          ContentLength: bytes.length,
          ChecksumSHA256: createHash('sha256').update(bytes).digest('base64'),
          ...(lock !== null && lockUntil(lock)),
          ...more,
        }),
        { abortSignal },
      ),
    )
  return {
    name: `s3://${bucket}/${prefix}`,
    async put(name, bytes) {
      try {
        await put(name, bytes, { IfNoneMatch: '*' })
        return 'written'
      } catch (error) {
        if (statusOf(error) === PRECONDITION_FAILED) return 'exists'
        throw failed(name, error)
      }
    },
    async replace(name, bytes) {
      await put(name, bytes, {}).catch((error) => {
        throw failed(name, error)
      })
    },
    async get(name, bytesMax, signal) {
      try {
        return await bounded(async (within) => {
          const abortSignal = signal ? AbortSignal.any([within, signal]) : within
          const { Body } = await client.send(new sdk.GetObjectCommand(target(name)), { abortSignal })
          return readBody(Body as Readable, bytesMax)
        })
      } catch (error) {
        if (statusOf(error) === NOT_FOUND && (error as Error).name !== NO_SUCH_BUCKET) return null
        throw failed(name, error)
      }
    },
  }
}

const NOT_FOUND = 404
/** Error name for a missing bucket. Its status is 404 too, but it does not say that the object is missing. */
const NO_SUCH_BUCKET = 'NoSuchBucket'
const PRECONDITION_FAILED = 412
const SERVER_ERROR = 500
const DAY_MS = 86_400_000

function lockUntil({ days, mode }: NonNullable<S3Settings['lock']>) {
  return { ObjectLockMode: mode, ObjectLockRetainUntilDate: new Date(Date.now() + days * DAY_MS) }
}

/**
 * Limits the time of all attempts together, including reading the answer. Without this limit, a bucket that sends one
 * byte per second could delay the caller for a long time.
 */
async function bounded<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return work(AbortSignal.timeout(ARCHIVE_ATTEMPTS_MAX * ARCHIVE_REQUEST_MS_MAX))
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
}

function failed(name: string, error: unknown): ArchiveStoreError {
  const { name: code, message } = error as Error
  const status = statusOf(error)
  const isAway = status === undefined ? !(error instanceof BodyTooLong) : status >= SERVER_ERROR
  return new ArchiveStoreError(`${name}: ${code}: ${message}`, { cause: error, isAway })
}
