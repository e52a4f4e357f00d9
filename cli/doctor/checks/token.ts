import type { Check } from '../check.ts';
import { failed, ok } from '../finding.ts';

/** What the caller's token may, told by requests that do nothing whoever sends them. */
export const token: Check = {
  id: 'token',
  examine: async (deployment) => {
    const { role, mayEnqueue, mayRead, mayOperate } = await deployment.rights();
    if (role === 'nobody') {
      const remedy =
        'Make another, npx millrace token create --name me --role operator; a new one is known within a minute.';
      return failed('the token is refused', { remedy, see: 'docs/doctor.md#token', unreachable: true });
    }
    const may = [mayEnqueue && 'put jobs in', mayRead && 'see their content', mayOperate && 'operate'];
    const mayNot = [!mayEnqueue && 'put jobs in', !mayRead && 'see their content', !mayOperate && 'operate'];
    return ok(
      [`${role}: it may ${listed(may)}`, mayNot.some(Boolean) && `not ${listed(mayNot)}`]
        .filter(Boolean)
        .join(', and '),
    );
  },
};

function listed(rights: readonly (string | false)[]): string {
  return rights.filter(Boolean).join(', ');
}
