import { concat, toHex, utf8Encode } from '../bytes.ts'
import type { Sha256 } from '../crypto.ts'
import { bytesOfUuid, type Uuid } from '../ids.ts'
import { ownRecordId } from './batch-ids.ts'

const DOMAIN = utf8Encode('tallystick-completion-v1')

/**
 * Returns the id of a completion that an agent signs itself. The id is derived from the completed record. So an agent
 * cannot choose the id of another completion, and no lookup is needed. `version`: the record's version after the step.
 */
export function completionIdOf(sha256: Sha256, recordId: Uuid, version: number): Uuid {
  const count = new Uint8Array(4)
  new DataView(count.buffer).setUint32(0, version)
  const hex = toHex(sha256(concat([DOMAIN, bytesOfUuid(recordId), count])).subarray(0, 16))
  return ownRecordId(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') as Uuid)
}
