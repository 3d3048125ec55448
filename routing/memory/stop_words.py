"""Frequent words that say nothing about what a message or a fact is about."""

from __future__ import annotations

import re

from routing.tools.selection.words import words

_WRITTEN = """
a about after all also am an and any are as at be been but by can could did do does doing done for from get give got had
has have having he her here hers him his how i if in into is it its just know let like likes make may me mine more most
much my no not now of on once one only or our out over please really said say she should show so some such tell than
that the their them then there these they think this those to too up us use user very want wants was we were what when
where which who whom whose why will with would yes you your yours person prefers
ab aber alle als also am an auch auf aus bei bin bis bist da das dass dein deine dem den der des die dir doch du durch
ein eine einem einen einer er es für habe haben hat ich ihm ihn ihr ihre im in ist ja kann kannst kein keine können mag
man mein meine meinem meinen meiner mich mir mit möchte nach nicht noch nur oder ob person schon sehr sein seine sich
sie sind so soll sowie über um und uns unser von vom vor war was weil welche welcher welches wem wen wenn wer werden wie
wieder will wir wird wo zu zum zur bitte nutzer benutzer
au aux avec ce ces cette comme dans de des du elle en est et être eu fait il ils j je l la le les leur lui ma mais me
mes moi mon ne nos notre nous on ou où par pas plus pour qu quand que quel quelle quels qui quoi sa sans se ses si son
sont suis sur ta te tes toi ton tu un une veux vos votre vous c d m n s t y
al algo ante como con cual cuál cuando cuándo de del donde dónde el ella ellos en era eres es esta está este esto estoy
fue ha hay la las le lo los más me mi mis mucho muy nada ni no nos o para pero por porque qué que quién se ser si sí sin
sobre son soy su sus también te tengo tiene tu tus un una unas uno unos y ya yo
ai al alla alle anche che chi ci come con cosa cui da dal dalla dei del della delle di dove e è gli ha hai ho i il in io
la le lei lo loro lui ma mi mie miei mio nel nella non o per perché più quale quando quanto questa questo se sei si
sono su sua suo ti tu tua tuo un una uno voi
ao aos as até com como da das de dela dele do dos e é ela ele em essa esse esta este eu foi isso já lhe mais mas me meu
meus minha minhas muito na não nas nem no nos o os ou para pela pelo por qual quando que quem se sem ser seu sua são
também te tem tenho teu tua um uma você
aan als bent bij daar dan dat de deze die dit door een en er geen haar heb hebben heeft het hij hoe hun ik in is je jij
jouw kan maar me mijn met mij naar niet nog of om onder ons ook op over te tot uit van voor waar wat we welke wie wil
worden zal ze zich zijn
bo być by był była co czy dla do go i ich ile ja jak jaka jaki jakie jest jestem już ma mam mi mnie moja moje mój może
na nie o od on ona oni po przez są się ta tak tam te tego tej ten to tu ty w we wie z za ze że
а без бы был была в вам вас ведь во вот все вы где да для до его ее если есть еще же за и из или им их к как какая какие
какой когда кто ли меня мне мой моя моё на нас не него нет но ну о об он она они от по при с сам свой себя так там то
тоже только ты тебя у уже что чтобы чем эта эти это я
ama ben bana beni benim bir bu çok da daha de değil diye en gibi hangi için ile ise kadar ki kim mi mı mu mü nasıl ne
neden nerede o olan olarak sen senin siz şu ve veya ya
أنا أن أنت أي إلى التي الذي الى او أو ب على عن عند في كان كل كم كيف لا لم لي ما متى من مع هذا هذه هل هو هي و يا أين ماذا
나 나는 내 내가 너 는 은 이 가 을 를 의 에 에서 도 뭐 무엇 어디 언제 어떻게 누구 좀 것 그 저 있는 해 해줘 알려줘
です ます した して する って なに 何 ですか は が を に の で と も から まで いる ある これ それ あれ どこ いつ
だれ 私の あなた
我 我的 你 你的 他 她 的 了 是 在 有 和 就 不 都 什么 怎么 哪里 哪个 谁 吗 呢 一个 这 那 请 可以
"""

_HAN = re.compile("[\u3400-\u9fff]")
STOP_WORDS: frozenset[str] = frozenset(words(_WRITTEN))
"""Stems, as `words` returns them."""


def content_words(text: str) -> list[str]:
    """The stems of a text without the stop words; also single Han characters, which are often words."""
    return [each for each in (*words(text), *_HAN.findall(text)) if each not in STOP_WORDS]
