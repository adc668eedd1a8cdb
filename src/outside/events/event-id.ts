import { concat, utf8Encode } from '../../proof/bytes.ts'
import { bytesOfUuid, formatId, ID_BYTES, type Uuid, uuidOfBytes } from '../../proof/ids.ts'
import { nativeProviders } from '../../signing/native.ts'

const CONTEXT = utf8Encode('tallystick-event-v1')
const NOBODY = new Uint8Array(ID_BYTES)

/**
 * Derives the id of an event. A receiver uses the id to act on each event only once.
 *
 * The id depends only on the members below, so each process and each delivery derives the same id. Ids sort by the
 * events' times (RFC 9562 §5.7, with a hash in place of the random bits). `endpoint`: the endpoint that receives the
 * event, or null if the event is for any caller.
 */
export function eventId(event: {
  readonly ledgerId: Uuid
  readonly endpoint: Uuid | null
  readonly seq: number
  readonly type: string
  readonly timestampMs: number
}): Uuid {
  const seq = new Uint8Array(8)
  new DataView(seq.buffer).setBigUint64(0, BigInt(event.seq))
  const { ledgerId, endpoint, type, timestampMs } = event
  const hashed = nativeProviders.sha256(
    concat([
      CONTEXT,
      bytesOfUuid(ledgerId),
      endpoint ? bytesOfUuid(endpoint) : NOBODY,
      seq,
      utf8Encode(type),
    ]),
  )
  const id = new Uint8Array(hashed.subarray(0, ID_BYTES))
  const time = new DataView(id.buffer)
  time.setUint32(0, Math.floor(timestampMs / 0x1_0000))
  time.setUint16(4, timestampMs % 0x1_0000)
  id[6] = (id[6]! & 0x0f) | 0x70
  id[8] = (id[8]! & 0x3f) | 0x80
  return uuidOfBytes(id)
}

export function formatEventId(id: Uuid): string {
  return formatId('evt', id)
}
