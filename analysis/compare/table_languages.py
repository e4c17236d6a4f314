"""Words of other languages in names of columns and rows of anybody's table of scores."""

from __future__ import annotations

import re
import unicodedata

# By their English word, as the tables of names hold it; without accents.
_WORDS = {
    "method": "methode metode verfahren ansatz approche metodo método метод 方法 手法 방법",
    "algorithm": "algorithmus algorithme algoritme algoritmo алгоритм 算法 アルゴリズム 알고리즘",
    "strategy": "strategie strategia estrategia",
    "model": "modell modele modelo modello модель 模型 モデル",
    "seed": "startwert graine semilla semente seme 种子 随机种子 シード 시드",
    "run": "lauf durchlauf ejecucion corrida esecuzione execucao 运行",
    "trial": "versuch essai",
    "round": "runde ronde tour ronda rodada 轮 轮次 ラウンド раунд",
    "epoch": "epoche epoque epoca",
    "accuracy": "genauigkeit exactitude exactitud accuratezza acuracia exatidao nauwkeurigheid "
    "точность 准确率 精度 正解率 정확도",
    "precision": "prazision precisao precisione",
    "loss": "verlust perte perdida perda perdita verlies потери 损失 損失",
    "error": "fehler fehlerrate erreur errore erro fout",
    "test": "prueba teste 测试",
    "train": "entrainement entrenamiento treino addestramento 训练",
    "validation": "validierung validacion validacao validazione 验证",
    "mean": "mittel mittelwert durchschnitt moyenne media promedio gemiddelde 平均",
    "std": "standardabweichung",
    "test_accuracy": "testgenauigkeit",
    "train_accuracy": "trainingsgenauigkeit",
    "validation_accuracy": "validierungsgenauigkeit",
    "test_loss": "testverlust",
    "train_loss": "trainingsverlust",
}


def english(text: str) -> str:
    """Returns a text in lower case without accents, its words in English where they are known.

    Examples:
        >>> from f3ast_tff.analysis.compare.table_languages import english
        >>> english("Test-Genauigkeit"), english("Méthode"), english("R²")
        ('test-accuracy', 'method', 'r2')
    """
    return re.sub(r"[^\W_]+", lambda word: _ENGLISH.get(word[0], word[0]), _plain(text))


def _plain(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.lower())
    return "".join(each for each in parts if not unicodedata.combining(each))


_ENGLISH = {_plain(word): name for name, words in _WORDS.items() for word in words.split()}
