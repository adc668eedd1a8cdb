import { defineReasonedStep } from '../reasoned-step.ts'

export const revise = defineReasonedStep({
  name: 'revise',
  does: "Asks for the work to be delivered again: the record becomes ACTIVE once more. The principal's step.",
  reasonExample: 'the labels are missing',
  method: 'requestRevision',
})
