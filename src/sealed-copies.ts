import { cardContentOf, cardInBody, type CardContent } from './domain/card-in-body.ts';
import type { CardCipher } from './ports/card-cipher.ts';
import type { CopyBody } from './ports/copy-body.ts';

/**
 * Copies that carry the card sealed only, and without its CVV once the order has its verdict. A card that upstream
 * sealed stays as it is until then; one that cannot be opened stays for good.
 */
export function sealedCopies(cipher: CardCipher): CopyBody {
  return async (body, { isDecided }) => {
    const card = cardInBody(body);
    switch (card.kind) {
      case 'none':
        return body;
      case 'clear':
        return card.replacedBy(await cipher.seal(contentFor(card.content, isDecided)));
      case 'sealed': {
        const opened = isDecided ? await cipher.open(card.jwe) : undefined;
        const content = opened === undefined ? undefined : cardContentOf(opened);
        return content === undefined ? body : card.replacedBy(await cipher.seal(content.withoutCvv));
      }
    }
  };
}

function contentFor(content: CardContent, isDecided: boolean): Uint8Array {
  return isDecided ? content.withoutCvv : content.whole;
}
