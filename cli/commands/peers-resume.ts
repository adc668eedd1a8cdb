import { definePeerChange } from '../peer-change.ts'

export const peersResume = definePeerChange({
  name: 'resume',
  does: 'Resumes a peering that was suspended.',
  codeExample: 'maintenance_over',
})
